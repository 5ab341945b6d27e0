// Messages that could not be stored are read from history later.

package slack

import (
	"context"
	"sync"

	slackgo "github.com/slack-go/slack"

	"cairn/internal/platform"
)

// retryQueue is the conversations with messages that could not be stored: they are read from history
// later, in case Slack stops repeating them.
type retryQueue struct {
	mu      sync.Mutex        // guards everything below
	after   map[string]string // by conversation: a ts before the first of them
	running bool
}

// retryLater queues the conversation of a message that could not be stored.
func (s *Slack) retryLater(m slackgo.Message) {
	if m.SubType == slackgo.MsgSubTypeMessageChanged || m.SubType == slackgo.MsgSubTypeMessageDeleted {
		return
	}
	name, after := s.placeOf(m.Channel, m.Msg).String(), before(m.Timestamp)
	s.retryQueue.mu.Lock()
	defer s.retryQueue.mu.Unlock()
	if s.retryQueue.after == nil {
		s.retryQueue.after = make(map[string]string)
	}
	if have, ok := s.retryQueue.after[name]; !ok || timeOf(after).Before(timeOf(have)) {
		s.retryQueue.after[name] = after
	}
	if !s.retryQueue.running {
		s.retryQueue.running = s.tasks.Start(s.drain)
	}
}

// drain backfills the queued conversations, until all succeed.
func (s *Slack) drain(ctx context.Context) {
	for {
		if platform.Sleep(ctx, s.times.retry) != nil {
			return
		}
		for name, after := range s.retryQueue.snapshot() {
			if s.hub.CatchUp(ctx, name, after) != nil {
				break
			}
			s.retryQueue.remove(name, after)
		}
		if s.retryQueue.finish() {
			return
		}
	}
}

func (o *retryQueue) snapshot() map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[string]string, len(o.after))
	for name, after := range o.after {
		all[name] = after
	}
	return all
}

func (o *retryQueue) remove(name, after string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.after[name] == after {
		delete(o.after, name)
	}
}

// finish reports whether the queue is empty; then drain ends.
func (o *retryQueue) finish() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running = len(o.after) > 0
	return !o.running
}
