// Package bucket reads and writes objects below a prefix in a bucket of an S3 server.
//
//	address.go      s3://bucket/prefix, and the client for it
//	bucket.go       writing, listing and removing objects
//	object.go       reading an object
//	unavailable.go  the meaning of a server's refusal, and the remedy
//	uploads.go      parts that a crash left
//	transport.go    connections that neither stall nor drip
//
// An object appears whole, once the server has checked the checksum of every part, or
// not at all. A crash leaves parts of an unfinished upload, which no list shows.
package bucket
