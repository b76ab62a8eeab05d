// Package importer reads meetings from files into an archive: NDJSON, JSON and the
// directories of earlier exports, compressed or encrypted, and meetings that other
// programs recorded: transcripts with recordings and metadata.
//
//	importer.go       batches of meetings into the archive, and the result
//	path.go           files and directories
//	pipe.go           pipes, whose reading is interrupted
//	stream.go         JSON objects of a stream, with their lines
//	exported.go       which meeting the ids of an exported one name
//	foreign.go        a meeting that another program recorded
//	identity.go       which meeting its words and its key name
//	foreign_files.go  which files belong to one such meeting; listing a folder again
//	name.go           the title and the time that a file's name says
//	files.go          opening and reading its files
//	recording.go      its recording
//	metadata.go       the file with title, time and people beside a transcript
//	watch.go          a folder whose meetings are imported as they appear
//	taken.go          which of its files were imported before, and as which meeting
//
// A meeting of another program has an id from [archive.FirstForeignID] on, derived from
// its content, so that importing it again changes nothing.
//
// A crash leaves the meetings of the batches before it; the next import of the same
// files completes them.
package importer
