//go:build race

package testrun

// UnderRace reports whether this program was built with the race detector.
const UnderRace = true
