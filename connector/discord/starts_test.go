// When shards start sessions, on a test's clock.

package discord

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/testkit/check"
)

// limitedDay is a Discord that accepts so many sessions, and as many again after each time.
type limitedDay struct {
	limit, concurrency int
	reset              time.Duration
	answers            time.Duration // from IDENTIFY to READY; IDENTIFY arrives at the end of it

	mu     sync.Mutex // guards the fields below
	used   int
	since  time.Time
	starts []start
}

type start struct {
	shard int
	at    time.Time
}

// RoundTrip answers GET /gateway/bot.
func (l *limitedDay) RoundTrip(*http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.since) >= l.reset {
		l.since = time.Now()
		l.used = 0
	}
	body := fmt.Sprintf(`{"url":"ws://gateway","shards":1,"session_start_limit":{"total":%d,"remaining":%d,"reset_after":%d,"max_concurrency":%d}}`,
		l.limit, l.limit-l.used, (l.reset - time.Since(l.since)).Milliseconds(), l.concurrency)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// start starts one session of each of some shards, and returns in which order and when.
func (l *limitedDay) start(t *testing.T, shards int) []start {
	t.Helper()
	d := check.Must(New(Options{Token: token, Shards: shards}))(t)
	d.rest.client.Transport = l
	l.since = time.Now()
	check.NoError(t, d.shards.divide(t.Context()))
	for id := range shards {
		d.shards.add(channel.Shard{Number: id})
	}
	var all sync.WaitGroup
	for _, s := range d.shards.list() {
		all.Go(func() {
			session, err := s.newSession(t.Context())
			check.NoError(t, err)
			session.identified = time.Now()
			l.mu.Lock()
			l.starts = append(l.starts, start{s.id, session.identified})
			l.mu.Unlock()
			time.Sleep(l.answers)
			l.mu.Lock()
			l.used++
			check.That(t, l.used <= l.limit, "session %d of %d, which resets the token", l.used, l.limit)
			l.mu.Unlock()
			session.ready()
		})
	}
	all.Wait()
	d.Work.Close()
	return l.starts
}

func TestStartsOfABucketAreApart(t *testing.T) {
	for claim, c := range map[string]struct {
		concurrency int
		answers     time.Duration
		all         time.Duration // until the last start
	}{
		"one bucket":                  {1, time.Second, 5 * 5500 * time.Millisecond},
		"three buckets, side by side": {3, time.Second, 5500 * time.Millisecond},
		"more buckets than shards":    {16, time.Second, 0},
		"a gateway that is slow":      {1, 8 * time.Second, 5 * 8 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &limitedDay{limit: 1000, concurrency: c.concurrency, reset: 24 * time.Hour, answers: c.answers}
			begin := time.Now()
			starts := l.start(t, 6)
			latest := map[int]time.Time{}
			for _, s := range starts {
				bucket := s.shard % c.concurrency
				if before, ok := latest[bucket]; ok {
					check.That(t, s.at.Sub(before) >= 5*time.Second, "%s: shard %d started %v after another", claim, s.shard, s.at.Sub(before))
				}
				latest[bucket] = s.at
			}
			check.Equal(t, claim+": all have started after", starts[5].at.Sub(begin), c.all)
		})
	}
}

func TestNoShardStartsOneSessionTooMany(t *testing.T) {
	for claim, l := range map[string]*limitedDay{
		"of which none remains after some":                                          {limit: 4, concurrency: 1},
		"of which some stay unused, as other buckets may use them at the same time": {limit: 7, concurrency: 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			l.reset = 24 * time.Hour
			l.answers = time.Second
			begin := time.Now()
			starts := l.start(t, 7)
			late := slices.IndexFunc(starts, func(s start) bool { return s.at.Sub(begin) >= l.reset })
			check.That(t, late > 0 && late <= l.limit, "%s: %d of %d started before the reset", claim, late, l.limit)
			check.That(t, starts[6].at.Sub(begin) < 2*l.reset, "%s: the last started after %v", claim, starts[6].at.Sub(begin))
		})
	}
}
