package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
)

// profile starts profiling, and returns a function that writes the profiles cpu and heap into dir,
// for go tool pprof.
func profile(dir string) (write func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	cpu, err := os.Create(filepath.Join(dir, "cpu"))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, errors.Join(err, cpu.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		runtime.GC() // so that the heap profile is current
		heap, err := os.Create(filepath.Join(dir, "heap"))
		if err == nil {
			err = errors.Join(pprof.WriteHeapProfile(heap), heap.Close())
		}
		return errors.Join(cpu.Close(), err)
	}, nil
}
