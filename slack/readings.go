// What was read of a long history waits here until it is asked for.

package slack

import (
	"slices"
	"sync"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
)

// reading is what was read of a history and not yet asked for, oldest first.
type reading struct {
	messages []slackgo.Message
	cursor   string // of the next page
	whole    bool   // there is no next page
	cut      bool   // newer ones were read and not kept
}

// sort puts the oldest first and keeps as many as may be kept.
func (r *reading) sort() {
	slices.SortStableFunc(r.messages, byTime)
	if len(r.messages) > mostKept {
		r.messages, r.cut = slices.Clone(r.messages[:mostKept]), true
	}
}

// readings keeps the newest few readings, each for the message it goes on from.
type readings struct {
	mu   sync.Mutex // guards kept
	kept []keptReading
}

type keptReading struct {
	place channel.Place
	after string
	reading
}

const mostReadings = 16

func newReadings() *readings { return &readings{} }

func (r *readings) keep(place channel.Place, after string, read reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, keptReading{place, after, read})
	if len(r.kept) > mostReadings {
		r.kept = slices.Clone(r.kept[1:])
	}
}

// take returns what was kept, once.
func (r *readings) take(place channel.Place, after string) (read reading, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, k := range r.kept {
		if k.place == place && k.after == after {
			r.kept = slices.Delete(r.kept, i, i+1)
			return k.reading, true
		}
	}
	return read, false
}
