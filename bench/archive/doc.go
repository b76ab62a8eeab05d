// Package archive measures package archive on archives of meetings resampled
// from the corpus of real ones, of 300 entries each, as its mean meeting has:
//
//	go test ./bench/archive -bench . -benchtime 1x [-args -meetings N -data DIR]
//
// With -data the archives stay there for further runs. Nothing is extrapolated:
// verify and export are timed over all N meetings, 10,000 when not told
// otherwise. The figure that each benchmark is held against is in its comment.
// Memory is the most that a process of its own had resident, over a tenth of the
// meetings and over all.
package archive
