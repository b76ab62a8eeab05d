package receiver

import "os"

// childDir tells whether this process is the daemon of a crash test, and where
// its inbox is.
func childDir() (string, bool) { return os.LookupEnv("RECEIVER_CRASH_DIR") }

func childMain(string) {}
