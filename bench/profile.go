package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
)

// profile has the run watched, and returns what writes its profiles into dir, for
// go tool pprof: cpu and heap.
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
		runtime.GC() // so that the heap is as it is now
		heap, err := os.Create(filepath.Join(dir, "heap"))
		if err == nil {
			err = errors.Join(pprof.WriteHeapProfile(heap), heap.Close())
		}
		return errors.Join(cpu.Close(), err)
	}, nil
}
