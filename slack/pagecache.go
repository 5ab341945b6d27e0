// The part of a long history that was read ahead.

package slack

import (
	"slices"
	"sync"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
)

// historyPages is the part of a history that was read and not yet requested, oldest first.
type historyPages struct {
	messages []slackgo.Message
	cursor   string // of the next page
	whole    bool   // there is no next page
	cut      bool   // newer ones were read and not kept
}

// sort puts the oldest first and keeps as many as may be kept.
func (r *historyPages) sort() {
	slices.SortStableFunc(r.messages, byTime)
	if len(r.messages) > mostKept {
		r.messages, r.cut = slices.Clone(r.messages[:mostKept]), true
	}
}

// pageCache keeps the newest few, each by the message after which it begins.
type pageCache struct {
	mu      sync.Mutex // guards kept
	entries []cachedPages
}

type cachedPages struct {
	place channel.Place
	after string
	historyPages
}

const maxCachedReads = 16

func newPageCache() *pageCache { return &pageCache{} }

func (r *pageCache) put(place channel.Place, after string, read historyPages) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, cachedPages{place, after, read})
	if len(r.entries) > maxCachedReads {
		r.entries = slices.Clone(r.entries[1:])
	}
}

// take removes and returns an entry.
func (r *pageCache) take(place channel.Place, after string) (read historyPages, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, k := range r.entries {
		if k.place == place && k.after == after {
			r.entries = slices.Delete(r.entries, i, i+1)
			return k.historyPages, true
		}
	}
	return read, false
}
