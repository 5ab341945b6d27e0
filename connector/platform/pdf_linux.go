// What a program that reads a PDF may use of a Linux machine.

package platform

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// limitProgram limits a process that has just started.
func limitProgram(pid int) error {
	for resource, most := range map[int]uint64{
		unix.RLIMIT_AS: pdfMemory, unix.RLIMIT_CPU: pdfSeconds, unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0,
	} {
		err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil)
		if err != nil && err != unix.ESRCH { // it has ended
			return fmt.Errorf("limit the program: %w", err)
		}
	}
	return nil
}
