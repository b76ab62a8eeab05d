//go:build race

package main

// raceDetector tells that this run looks for races, several times slower.
const raceDetector = true
