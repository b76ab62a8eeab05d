// Package mutations puts known faults into the code, one at a time, and runs the test
// that has to notice. Tests only.
//
// A file of testdata is a fault: why it matters, the test that notices it ("seeds" for
// simulated years), and for each change the file, and the text with the text that replaces
// it. The tree is not touched: the changed files reach the compiler by `go test -overlay`.
package mutations
