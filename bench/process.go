package main

import (
	"log/slog"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// What this process uses of the machine.

// cpuTime is how long it has been computing, in all threads, the kernel's share included.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is how much of its memory is in the machine's, in bytes: on Linux as the
// kernel says, elsewhere what Go has asked for, which leaves SQLite's out.
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

// heap is how much Go's objects take, live ones and those not collected yet, in bytes.
func heap() uint64 { return metric("/memory/classes/heap/objects:bytes") }

// living is how much memory objects and stacks take that are in use, in bytes.
func living() uint64 {
	runtime.GC()
	runtime.GC() // what a finalizer held goes with the second
	return heap() + metric("/memory/classes/heap/stacks:bytes")
}

func metric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// handles is how many files and sockets are open; -1 where nobody tells.
func handles() int {
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if entries, err := os.ReadDir(dir); err == nil {
			return len(entries) - 1 // the folder itself
		}
	}
	return -1
}

// busyMachine is how many processes want a processor, the mean of the last minute, as
// the system tells it; "" where it does not.
func busyMachine() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	load, _, _ := strings.Cut(string(text), " ")
	return load
}

// silence is a log that nobody reads.
var silence = slog.New(slog.DiscardHandler)
