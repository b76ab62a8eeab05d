// Package captions reads the files of transcription programs: WebVTT, SubRip, and the
// JSON of Whisper, WhisperX and whisper.cpp. It opens no files.
//
//	captions.go   a transcript, its format, utterances
//	cues.go       WebVTT and SubRip
//	whisper.go    JSON
//	speaker.go    who speaks in a caption
//
// It promises that an error in one place names the line, or the segment of JSON, that the
// captions of a transcript are in the order of their beginnings, and that every input ends in
// a transcript or an error.
package captions
