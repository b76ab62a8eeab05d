//go:build race

package testrun

// UnderRace tells whether this program was built with the race detector.
const UnderRace = true
