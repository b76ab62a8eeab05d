// Package media stores the bytes of recordings by their SHA-256: as files, or as
// objects of an S3 bucket.
//
//	media.go        Store, Blob, and the store that a media URL names
//	file.go         the store of files
//	s3.go           the store of objects
//	sweep.go        deletes the leftovers of a crash
//	unavailable.go  distinguishes a failing server from an absent or damaged blob
//	sniff.go        content types
//	owner.go        the archive whose recordings are in a bucket or another directory
//	quarantine.go   moves damaged recordings aside, lists foreign files
//
// A blob is in a store whole and verified, or it is not in it. A crash leaves
// temporary files in the directory partial, or parts of an upload in the bucket, which
// [Sweep] deletes at the next start.
package media
