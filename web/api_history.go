// API routes: the usage of a window over time. Also the cached usage of all windows in a list.
package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"cairn/channel"
	"cairn/store"
)

// historyAnswer is the usage of a conversation's window over time, with its compactions.
type historyAnswer struct {
	Used        []usedPoint         `json:"used" doc:"oldest first; where a compaction was applied there are two points"`
	Compactions []store.AppliedStep `json:"compactions" doc:"oldest first"`
	Before      int64               `json:"before,omitempty" doc:"for what came earlier; absent: there is nothing"`
}

// usedPoint is the size of the next request after a message.
type usedPoint struct {
	Time   time.Time `json:"time"`
	Seq    int64     `json:"seq"`
	Tokens int       `json:"tokens" doc:"measured at each answer and where a compaction was applied; between, in proportion to the messages"`
	Window int       `json:"window" doc:"that of then, as far as it is known"`
}

// Limits of one response.
const (
	historyMessages    = 20_000
	historyCompactions = 1000
	historyPoints      = 1000 // of messages, and as many of answers; those of compactions come in addition
)

func (s *Server) history(w http.ResponseWriter, r *http.Request, c *store.Conversation) error {
	from, err := since(r)
	if err != nil {
		return err
	}
	before, err := number(r, "before", 0, 1, maxSeq)
	if err != nil {
		return err
	}
	h, err := s.historyOf(r.Context(), c, from, before)
	return answerOr(w, h, err)
}

// historyOf reads the history of a conversation after since and before the message with seq before;
// 0: up to now.
func (s *Server) historyOf(ctx context.Context, c *store.Conversation, since time.Time, before int64) (h historyAnswer, err error) {
	now, err := s.operator.Context(ctx, c.Name())
	if err != nil {
		return h, err
	}
	grown, more, err := c.Transcript().Growth(ctx, since, before, historyMessages)
	if err != nil {
		return h, err
	}
	steps, err := c.Compactions().Steps(ctx, since, before, historyCompactions)
	if err != nil {
		return h, err
	}
	h = historyAnswer{Used: []usedPoint{}, Compactions: []store.AppliedStep{}}
	h.Compactions = append(h.Compactions, steps...)
	if len(grown) == 0 {
		return h, nil
	}
	if more {
		h.Before = grown[0].Seq
	}
	turns, err := c.Turns().Usages(ctx, grown[0].Seq, grown[len(grown)-1].Seq)
	if err != nil {
		return h, err
	}
	t := sawTooth{window: now.Max, step: max(len(grown)/historyPoints, 1)}
	start, end := -1, now.Used
	if grown[0].Seq == 1 {
		start = now.Parts.Frame + now.Parts.Reserve
	}
	if before > 0 {
		end = -1
	}
	t.draw(grown, measurements(turns, steps), start, end)
	h.Used = t.points
	return h, nil
}

// measurement is the number of used tokens before and after an event that precedes the message with
// seq next. For an answer both are the same.
type measurement struct {
	next          int64
	time          time.Time
	before, after int
	window        int // 0: unknown
}

// measurements returns the measurements of answers and compactions, in order.
func measurements(turns []store.TurnUsage, steps []store.AppliedStep) (all []measurement) {
	every := len(turns)/historyPoints + 1
	for i, u := range turns {
		if i%every == 0 {
			all = append(all, measurement{next: u.Seq, time: u.Time, before: u.Used, after: u.Used, window: u.Window})
		}
	}
	for _, s := range steps {
		if s.BeforeTokens > 0 {
			all = append(all, measurement{next: s.Next, time: s.Time, before: s.BeforeTokens, after: s.AfterTokens})
		}
	}
	slices.SortStableFunc(all, func(a, b measurement) int { return cmp.Compare(a.next, b.next) })
	return all
}

// sawTooth is the line of used tokens. It is measured at answers, at applied compactions and now;
// in between it is interpolated by the sizes of the messages.
type sawTooth struct {
	window, step int
	points       []usedPoint
}

// draw draws all messages. start and end are the used tokens before the first and after the last
// one; -1: unknown.
func (t *sawTooth) draw(grown []store.Grown, measured []measurement, start, end int) {
	t.points = []usedPoint{}
	now := t.window
	if i := slices.IndexFunc(measured, func(m measurement) bool { return m.window > 0 }); i >= 0 {
		t.window = measured[i].window
	}
	for _, m := range measured {
		if m.next < grown[0].Seq { // before the first message drawn
			continue
		}
		n := 0
		for n < len(grown) && grown[n].Seq < m.next {
			n++
		}
		t.window = cmp.Or(m.window, t.window)
		t.rise(grown[:n], start, m.before)
		if n == 0 || m.after != m.before { // otherwise the line has already reached it
			at := usedPoint{Time: m.time, Seq: m.next - 1, Window: t.window, Tokens: m.before}
			t.points = append(t.points, at)
			at.Tokens = m.after
			t.points = append(t.points, at)
		}
		grown, start = grown[n:], m.after
		if len(grown) == 0 {
			return
		}
	}
	t.window = now
	t.rise(grown, start, end)
}

// rise draws messages from one measurement to the next. If one of them is unknown, each message
// adds its own tokens.
func (t *sawTooth) rise(grown []store.Grown, start, end int) {
	total := 0
	for _, g := range grown {
		total += g.Tokens
	}
	if end < 0 {
		end = max(start, 0) + total
	}
	if start < 0 {
		start = max(end-total, 0)
	}
	sum := 0
	for i, g := range grown {
		if sum += g.Tokens; i%t.step == 0 || i == len(grown)-1 {
			tokens := start + int(int64(end-start)*int64(sum)/int64(max(total, 1)))
			t.points = append(t.points, usedPoint{Time: g.Time, Seq: g.Seq, Tokens: tokens, Window: t.window})
		}
	}
}

// usageCache caches the usage of conversations that are not open. It changes only with their
// messages and heads; computing it takes milliseconds.
type usageCache struct {
	mu    sync.Mutex // guards known
	known map[string]cachedUsage
}

type cachedUsage struct {
	next, version int64
	activity      channel.Activity
}

const maxCachedUsages = 10_000

// of returns how full a conversation's window is, and what is running there.
func (f *usageCache) of(ctx context.Context, operator channel.Operator, p store.Place) (channel.Activity, error) {
	if now, open := operator.Activity(p.Channel); open {
		return now, nil
	}
	f.mu.Lock()
	known, found := f.known[p.Channel]
	f.mu.Unlock()
	if found && known.next == p.Next && known.version == p.Version {
		return known.activity, nil
	}
	now, err := operator.Context(ctx, p.Channel)
	if err != nil {
		return channel.Activity{}, err
	}
	known = cachedUsage{p.Next, p.Version, channel.Activity{Used: now.Used, Window: now.Max}}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxCachedUsages {
		f.known = make(map[string]cachedUsage)
	}
	f.known[p.Channel] = known
	return known.activity, nil
}
