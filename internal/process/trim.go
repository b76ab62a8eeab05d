package process

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

// glibc keeps freed memory between blocks that are in use until it is asked for it.
static void trim(void) {
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

// By itself glibc keeps freed memory in up to eight arenas for each processor.
static void limitArenas(int n) {
#ifdef __GLIBC__
	mallopt(M_ARENA_MAX, n);
#endif
}
*/
import "C"

import "runtime"

// trimC gives the freed memory of C libraries, such as SQLite's pages, back to the system.
func trimC() { C.trim() }

// limitArenas bounds the memory that C libraries keep for later: an arena for each
// processor.
func limitArenas() { C.limitArenas(C.int(runtime.NumCPU())) }
