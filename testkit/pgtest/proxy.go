package pgtest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Proxy is a socket in front of a cluster, whose network can fail.
type Proxy struct {
	cluster *Cluster
	dir     string

	mu    sync.Mutex // guards below
	mute  bool       // what the server says is dropped, and then the connection
	gone  bool       // the network: nothing is carried either way
	open  map[net.Conn]bool
	moved *sync.Cond
}

// NewProxy starts a proxy for a test.
func NewProxy(t testing.TB, c *Cluster) *Proxy {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cairn-px") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{cluster: c, dir: dir, open: make(map[net.Conn]bool)}
	p.moved = sync.NewCond(&p.mu)
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.Close()
		p.Connect()
		p.Cut()
		_ = os.RemoveAll(dir)
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.carry(client)
		}
	}()
	return p
}

// Address returns the address of a database behind the proxy.
func (p *Proxy) Address(database string) string {
	return fmt.Sprintf("postgres://cairn@/%s?host=%s", database, p.dir)
}

// Mute has the server receive what is sent from now on, and nobody hear its answers: connections are lost with the next one.
func (p *Proxy) Mute() { p.set(func() { p.mute = true }) }

// Disconnect stops all traffic, without a word to either side.
func (p *Proxy) Disconnect() { p.set(func() { p.gone = true }) }

// Connect ends Mute and Disconnect.
func (p *Proxy) Connect() { p.set(func() { p.mute, p.gone = false, false }) }

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

func (p *Proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.moved.Broadcast()
}

func (p *Proxy) carry(client net.Conn) {
	server, err := net.Dial("unix", p.cluster.Socket())
	if err != nil {
		_ = client.Close()
		return
	}
	p.set(func() { p.open[client], p.open[server] = true, true })
	go p.copy(server, client, false)
	p.copy(client, server, true)
	p.set(func() {
		delete(p.open, client)
		delete(p.open, server)
	})
}

// copy carries bytes until one side closes.
func (p *Proxy) copy(to, from net.Conn, answers bool) {
	defer to.Close()
	defer from.Close()
	block := make([]byte, 1<<16)
	for {
		n, err := from.Read(block)
		p.mu.Lock()
		for p.gone {
			p.moved.Wait()
		}
		lost := answers && p.mute && n > 0
		p.mu.Unlock()
		if n > 0 && !lost {
			_, err = to.Write(block[:n])
		}
		if lost || err != nil {
			return
		}
	}
}
