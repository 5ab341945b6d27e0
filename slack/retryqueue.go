// Messages that could not be stored are read from history later.

package slack

import (
	"context"
	"maps"
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

func (q *retryQueue) snapshot() map[string]string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.after)
}

func (q *retryQueue) remove(name, after string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.after[name] == after {
		delete(q.after, name)
	}
}

// finish reports whether the queue is empty; then drain ends.
func (q *retryQueue) finish() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running = len(q.after) > 0
	return !q.running
}
