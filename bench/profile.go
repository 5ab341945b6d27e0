package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
)

// profile has the run watched, and returns what writes its profiles into dir, for
// go tool pprof: cpu, heap, mutex and block.
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
	runtime.SetMutexProfileFraction(10)
	runtime.SetBlockProfileRate(10_000) // one sample for each 10 µs
	return func() error {
		pprof.StopCPUProfile()
		errs := []error{cpu.Close()}
		runtime.GC() // so that the heap is as it is now
		for _, name := range []string{"heap", "mutex", "block"} {
			file, err := os.Create(filepath.Join(dir, name))
			if err == nil {
				err = errors.Join(pprof.Lookup(name).WriteTo(file, 0), file.Close())
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}, nil
}
