package store_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/pgtest"
)

// pooler is between clients and a cluster, as PgBouncer is: it gives clients process numbers of its own.
func pooler(t *testing.T, c *pgtest.Cluster, refuses string) (address string) {
	t.Helper()
	listener := check.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go pool(client, c.Socket(), refuses)
		}
	}()
	return fmt.Sprintf("postgres://cairn:hush-hush@%s/postgres", listener.Addr())
}

func pool(client net.Conn, socket, refuses string) {
	defer client.Close()
	server, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer server.Close()
	if refuses != "" {
		text := "SFATAL\x00VFATAL\x00C08P01\x00M" + refuses + "\x00\x00"
		_, _ = client.Read(make([]byte, 10_000))
		_, _ = client.Write(binary.BigEndian.AppendUint32([]byte{'E'}, uint32(4+len(text))))
		_, _ = client.Write([]byte(text))
		return
	}
	go func() { _, _ = io.Copy(server, client) }()
	for {
		var head [5]byte // of a message: its type and its length
		if _, err := io.ReadFull(server, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(server, body); err != nil {
			return
		}
		if head[0] == 'K' { // BackendKeyData
			binary.BigEndian.PutUint32(body, 1)
		}
		if _, err := client.Write(append(head[:], body...)); err != nil {
			return
		}
	}
}

func TestPoolerIsRefused(t *testing.T) {
	c := pgtest.Shared(t)
	wantWords(t, pooler(t, c, "unsupported startup parameter: search_path"), "a pooler such as PgBouncer", "name the address of PostgreSQL itself")
	wantWords(t, pooler(t, c, ""), "a pooler such as PgBouncer", "name the address of PostgreSQL itself")
}
