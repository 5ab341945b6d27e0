// Slack sends each message to any one of the sockets of an app. Each process has one, and one of them answers.

package slack

import "sync"

// maxReceivers is how many processes open a socket. Slack lets an app have ten: one remains for a socket that replaces another, before
// which that is still read.
const maxReceivers = 9

// Receivers implements channel.Shared.
func (s *Slack) Receivers() int { return maxReceivers }

// turn says whether this process answers. It is safe for concurrent use.
type turn struct {
	mu        sync.Mutex // guards all below
	answers   bool
	connected bool // a socket was open at some time
}

// connect notes that a socket is open, and reports whether this process answers.
func (t *turn) connect() (answers bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.connected = true
	return t.answers
}

// begin notes that this process answers, and reports whether a socket was open before.
func (t *turn) begin() (connected bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers = true
	return t.connected
}
