// Package export writes meetings as files for people, note tools and players:
// Markdown, JSON, subtitles, plain text, Parquet, a static site. It also renders single
// meetings for the page.
//
//	export.go, run.go    Run: its options, and the loop over the meetings
//	meeting.go           a meeting as it is rendered
//	people.go            the people in it
//	file.go, sync_*.go   files that are written only when they would differ
//	ledger*.go           the exports into a directory: files, names, lists
//	notes.go             notes, ticks, merged people and saved searches
//	site.go              pages around the meetings: indexes, people
//	markdown.go, text.go, subtitles.go, json.go, parquet*.go    the formats
//
// A reader finds a file whole at any moment. A crash leaves some files of the last export and
// some of this one, and a power cut may leave a file cut short; the next run completes them,
// and removes the files of meetings that were forgotten meanwhile. A meeting that is forgotten while an
// export runs is in none of its files at the end.
package export
