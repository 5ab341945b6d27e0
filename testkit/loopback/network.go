package loopback

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
)

// Network is what carries a program's connections to servers on this machine, and can fail for that program alone. Its methods are safe for
// concurrent use.
type Network struct {
	mu        sync.Mutex // guards all
	cut       bool
	listeners []net.Listener
	open      map[net.Conn]bool
}

// Carry returns the address of a server as the program must know it, such as "http://127.0.0.1:40000/api". Where the server names its own
// address in a response, this takes its place: the server must not compress.
func (n *Network) Carry(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	server := u.Host
	l, err := listenAlike(server)
	if err != nil {
		return "", err
	}
	n.mu.Lock()
	n.listeners = append(n.listeners, l)
	n.mu.Unlock()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go n.serve(client, server, l.Addr().String())
		}
	}()
	u.Host = l.Addr().String()
	return u.String(), nil
}

// listenAlike listens on an address as long as that of the server, so that responses keep their length.
func listenAlike(server string) (net.Listener, error) {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil || len(l.Addr().String()) == len(server) {
			return l, err
		}
		_ = l.Close()
	}
	return nil, fmt.Errorf("no address as long as %s is free", server)
}

// Cut closes all connections, and each that the program opens from now on.
func (n *Network) Cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = true
	for c := range n.open {
		_ = c.Close()
	}
}

// Restore ends Cut.
func (n *Network) Restore() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = false
}

// Close ends everything.
func (n *Network) Close() {
	n.Cut()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.listeners {
		_ = l.Close()
	}
}

// keep notes a connection, and reports whether the network carries it.
func (n *Network) keep(c net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut {
		_ = c.Close()
		return false
	}
	if n.open == nil {
		n.open = make(map[net.Conn]bool)
	}
	n.open[c] = true
	return true
}

func (n *Network) end(c net.Conn) {
	_ = c.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, c)
}

// serve carries one connection.
func (n *Network) serve(client net.Conn, server, self string) {
	if !n.keep(client) {
		return
	}
	defer n.end(client)
	behind, err := net.Dial("tcp", server)
	if err != nil || !n.keep(behind) {
		return
	}
	defer n.end(behind)
	go func() {
		_, _ = io.Copy(behind, client)
		_ = behind.Close()
	}()
	block := make([]byte, 1<<16)
	for {
		size, err := behind.Read(block)
		for err == nil && endsInside(block[:size], server) && size < len(block) { // the rest of an address follows
			var more int
			more, err = behind.Read(block[size:])
			size += more
		}
		if _, failed := client.Write(bytes.ReplaceAll(block[:size], []byte(server), []byte(self))); failed != nil || err != nil {
			return
		}
	}
}

// endsInside reports whether a text ends with a part of an address, from its port on.
func endsInside(text []byte, address string) bool {
	for n := strings.LastIndex(address, ":") + 1; n < len(address); n++ {
		if bytes.HasSuffix(text, []byte(address[:n])) {
			return true
		}
	}
	return false
}
