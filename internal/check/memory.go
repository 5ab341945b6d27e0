package check

import (
	"flag"
	"os"
	"syscall"
)

// InMemory puts the temporary folders of a package's tests into memory, where there is such a
// place with room: the bot syncs as always, and no test waits for a disk. What a kill leaves was
// given to the system, whether or not a disk has it. A benchmark measures the disk too, and a
// folder that somebody chose stays. TestMain calls it.
func InMemory() {
	const (
		folder = "/dev/shm"
		room   = 4 << 30 // bytes; the go command works there too
		noExec = 8       // Linux' ST_NOEXEC: tests run programs that they built
	)
	flag.Parse()
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR")+os.Getenv("GOTMPDIR") != "" || flag.Lookup("test.bench").Value.String() != "" ||
		syscall.Statfs(folder, &fs) != nil || uint64(fs.Bavail)*uint64(fs.Bsize) < room || fs.Flags&noExec != 0 {
		return
	}
	if err := os.Setenv("TMPDIR", folder); err != nil {
		panic(err)
	}
}
