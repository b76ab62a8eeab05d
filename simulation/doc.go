// Package simulation keeps no code: its tests stand above all rooms. They draw
// whole worlds, read them into an archive, and compare the answers of every room
// with an oracle that is written from the specification alone.
package simulation
