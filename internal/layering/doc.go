// Package layering keeps no code: a test reads every import of the module
// and fails when one points up the house or across between peers. Another finds
// packages that start goroutines and do not watch them in their tests, and a third
// finds folders with too many files.
package layering
