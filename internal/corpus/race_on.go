//go:build race

package corpus

// RaceDetector tells that this program looks for races, several times slower.
const RaceDetector = true
