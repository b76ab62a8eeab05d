// Package importer reads meetings from files into an archive: NDJSON, JSON and the
// directories of earlier exports, compressed or encrypted.
//
//	importer.go   batches of meetings into the archive, and the result
//	path.go       files and directories
//	stream.go     JSON objects of a stream, with their lines
//
// A crash leaves the meetings of the batches before it; the next import of the same
// files completes them.
package importer
