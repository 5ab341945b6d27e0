package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Resource usage of this process.

// cpuTime returns the CPU time of all threads, including the kernel's.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident returns the resident memory in bytes: on Linux as reported by the kernel, elsewhere the
// memory that Go has obtained, which excludes SQLite's.
func resident() uint64 {
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			if pages, err := strconv.ParseUint(fields[1], 10, 64); err == nil {
				return pages * uint64(os.Getpagesize())
			}
		}
	}
	return metric("/memory/classes/total:bytes") - metric("/memory/classes/heap/released:bytes")
}

// heap returns the size of Go's objects, including those not yet collected, in bytes.
func heap() uint64 { return metric("/memory/classes/heap/objects:bytes") }

// living returns the size of live objects and stacks, in bytes.
func living() uint64 {
	runtime.GC()
	runtime.GC() // the second run frees what finalizers held
	return heap() + metric("/memory/classes/heap/stacks:bytes")
}

func metric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// handles returns the number of open files and sockets; -1 if unknown. The files of the database do not count: as many readers as may be
// needed at the same time keep them open.
func handles() (open int) {
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			if of, _ := os.Readlink(filepath.Join(dir, entry.Name())); !strings.Contains(filepath.Base(of), ".db") {
				open++
			}
		}
		return open - 1 // without the one for the directory itself
	}
	return -1
}

// discardLog is a logger that discards everything.
var discardLog = slog.New(slog.DiscardHandler)
