// Package archive measures package archive on synthetic meetings shaped like
// the corpus of real ones: about 300 entries each. `make bench` runs it; the
// figures that the archive keeps to are in the benchmarks' comments, and every
// one is reported beside the standard ones.
package archive
