package postgres

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"cairn/testkit/check"
)

// A network that is gone without a word must not keep a writer waiting for a quarter of an hour.
func TestSilenceIsLimited(t *testing.T) {
	listener := check.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	a, err := Parse("postgres://ann@127.0.0.1/bot")
	check.NoError(t, err)
	attend(a.config)
	check.Equal(t, "seconds to connect", a.config.ConnectTimeout, connectTimeout)
	check.HasPrefix(t, "the name of the process", a.config.RuntimeParams["application_name"], "cairn ")
	conn := check.Must(a.config.DialFunc(t.Context(), "tcp", listener.Addr().String()))(t)
	defer conn.Close()
	raw := check.Must(conn.(*net.TCPConn).SyscallConn())(t)
	values := map[int]int{unix.TCP_USER_TIMEOUT: 25_000, unix.TCP_KEEPIDLE: 10, unix.TCP_KEEPINTVL: 5, unix.TCP_KEEPCNT: 3}
	check.NoError(t, raw.Control(func(fd uintptr) {
		for option, want := range values {
			got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option)
			check.That(t, err == nil && got == want, "the option %d of the socket is %d, %v; want %d", option, got, err, want)
		}
	}))
}

func TestDialOverASocket(t *testing.T) {
	path := t.TempDir() + "/s"
	listener := check.Must(net.Listen("unix", path))(t)
	defer listener.Close()
	a, err := Parse("postgres://ann@/bot?connect_timeout=3&host=" + t.TempDir())
	check.NoError(t, err)
	attend(a.config)
	conn := check.Must(a.config.DialFunc(t.Context(), "unix", path))(t)
	check.NoError(t, conn.Close())
}
