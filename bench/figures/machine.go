package main

import (
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// machine is where the figures were measured.
type machine struct {
	Version            string // of the tree
	Go, SQLite, Kernel string
	Cores              int
	Processor, Memory  string
	Peers              string // the versions of the programs
}

func describeMachine() machine {
	sqlite, _, _ := sqlite3.Version()
	kernel, _, _ := strings.Cut(readLine("/proc/sys/kernel/osrelease", ""), "-")
	_, processor, _ := strings.Cut(readLine("/proc/cpuinfo", "model name"), ": ")
	return machine{Version: firstLine("packaging/version"), Go: strings.TrimPrefix(runtime.Version(), "go"), SQLite: sqlite, Kernel: kernel,
		Cores: runtime.NumCPU(), Processor: processor, Memory: strings.Join(strings.Fields(readLine("/proc/meminfo", "MemTotal:"))[1:], " "),
		Peers: strings.Join([]string{firstLine("restic", "version"), firstLine("rg", "--version"), firstLine("curl", "--version"),
			"Xapian " + firstLine("/usr/bin/python3", "-c", "import xapian; print(xapian.version_string())")}, "; ")}
}

// load returns how many processes wanted to run in the last minute.
func load() string {
	word, _, _ := strings.Cut(readLine("/proc/loadavg", ""), " ")
	return word
}

// readLine returns the first line of a file that begins with a prefix, "unknown" if none.
func readLine(path, prefix string) string {
	raw, _ := os.ReadFile(path)
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, prefix) {
			return strings.TrimSpace(line)
		}
	}
	return "unknown"
}

// firstLine returns the first two words that a program prints of its version.
func firstLine(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) == 0 {
		return "not here"
	}
	return strings.Join(words[:min(2, len(words))], " ")
}
