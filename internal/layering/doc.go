// Package layering keeps no code: its test reads every import of the module
// and fails when one points up the house or across between peers.
package layering
