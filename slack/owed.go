// What the disk would not take is owed, and read again later.

package slack

import (
	"context"
	"sync"

	slackgo "github.com/slack-go/slack"

	"cairn/internal/platform"
)

// owed are the conversations of messages that were told of and could not be kept:
// they are read from the history later, in case Slack gives up sending them again.
type owed struct {
	mu      sync.Mutex        // guards everything below
	after   map[string]string // by conversation: a ts before the first of them
	running bool
}

// owe notes a message that could not be kept.
func (s *Slack) owe(m slackgo.Message) {
	if m.SubType == slackgo.MsgSubTypeMessageChanged || m.SubType == slackgo.MsgSubTypeMessageDeleted {
		return
	}
	name, after := s.placeOf(m.Channel, m.Msg).String(), before(m.Timestamp)
	s.owed.mu.Lock()
	defer s.owed.mu.Unlock()
	if s.owed.after == nil {
		s.owed.after = make(map[string]string)
	}
	if have, ok := s.owed.after[name]; !ok || timeOf(after).Before(timeOf(have)) {
		s.owed.after[name] = after
	}
	if !s.owed.running {
		s.owed.running = s.tasks.Start(s.settle)
	}
}

// settle has the owed messages read, as soon as the disk takes that.
func (s *Slack) settle(ctx context.Context) {
	for {
		if platform.Sleep(ctx, s.times.retry) != nil {
			return
		}
		for name, after := range s.owed.all() {
			if s.hub.CatchUp(ctx, name, after) != nil {
				break
			}
			s.owed.paid(name, after)
		}
		if s.owed.done() {
			return
		}
	}
}

func (o *owed) all() map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[string]string, len(o.after))
	for name, after := range o.after {
		all[name] = after
	}
	return all
}

func (o *owed) paid(name, after string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.after[name] == after {
		delete(o.after, name)
	}
}

// done ends the settling if nothing is owed.
func (o *owed) done() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running = len(o.after) > 0
	return !o.running
}
