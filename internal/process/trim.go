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
*/
import "C"

// trimC gives the freed memory of C libraries, such as SQLite's pages, back to the system.
func trimC() { C.trim() }
