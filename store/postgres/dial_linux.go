package postgres

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitSilence ends a connection whose data nobody acknowledges. Without it the kernel sends it again for a quarter of an hour.
func limitSilence(network, _ string, c syscall.RawConn) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	failed := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence.Milliseconds()))
	})
	if failed != nil {
		return failed
	}
	return err
}
