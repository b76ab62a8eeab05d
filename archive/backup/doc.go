// Package backup copies an archive into the next generation of a directory of
// backups while it is used, and makes a data directory from a generation.
//
//	backup.go                     Run: a generation, from the first file to its manifest
//	copy.go                       databases and recordings, compressed and encrypted
//	reuse.go                      recordings that earlier and interrupted runs have copied
//	dir.go                        the directory: its lock, removing and clearing away
//	prune.go                      older generations, and the doubts that keep them
//	restore.go, restore_finish.go Restore: files, checks, a new epoch
//	restore_forgotten.go          the meetings that no restore brings back
//	adopt.go                      Adopt: databases that another program has restored
//	prove.go                      Prove: the newest generation is restored for a try
//
// A crash leaves the earlier generations as they are; a restore that was interrupted
// goes on when it is run again.
package backup
