package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

// The state that transcript computes in memory equals the state of the rows after each step of a
// random history.
func TestChangedStateEqualsStoredState(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := stateHistory{t: t, c: storetest.Imported(t, 30), draw: rand.New(rand.NewPCG(seed, 15)), said: 30}
			for range 40 {
				h.step()
			}
		})
	}
}

// stateHistory is a random history of one conversation.
type stateHistory struct {
	t    *testing.T
	c    *store.Conversation
	draw *rand.Rand
	said int
}

func (h *stateHistory) step() {
	h.t.Helper()
	head := storetest.Load(h.t, h.c).Head
	from := head.Start + h.draw.Int64N(max(int64(h.said)-head.Start+1, 1))
	to := min(from+h.draw.Int64N(8), int64(h.said))
	switch n := h.draw.IntN(10); {
	case n < 1 || from > to:
		h.said++
		storetest.Deliver(h.t, h.c, storetest.Said(h.said, "more"))
	case n < 4:
		h.summarize(transcript.Leaf, []transcript.By{transcript.Worker, transcript.Extractive}[h.draw.IntN(2)], from, to)
	case n < 5 && len(head.Stack) > 1:
		i := h.draw.IntN(len(head.Stack) - 1)
		a, b := head.Stack[i], head.Stack[i+1]
		h.summarize(transcript.Rollup, transcript.Worker, a.From, b.To, a.ID, b.ID)
	case n < 7:
		h.check("apply", h.cover)
	case n < 8:
		h.check("truncate", func(s *transcript.State) (transcript.Change, error) {
			row := transcript.Summary{Span: transcript.Span{From: from, To: to}, Trigger: transcript.OnEmergency, AwaitsModel: h.draw.IntN(2) == 0}
			return s.Truncate([]transcript.Summary{row}, from), nil
		})
	case n < 9 || h.draw.IntN(3) > 0:
		l := check.Must(h.c.Compactions().Latest(ctx))(h.t)
		if _, err := l.Undo(storetest.StateOf(h.t, h.c)); l.Why == "" && err == nil {
			h.check("undo", l.Undo)
		}
	default:
		h.check("new session", func(s *transcript.State) (transcript.Change, error) { return s.NewSession(true) })
	}
}

// summarize prepares a summary, which a model may still have to redo.
func (h *stateHistory) summarize(kind transcript.Kind, by transcript.By, from, to int64, children ...int64) {
	h.t.Helper()
	j := check.Must(memory.Of(h.c).Records().Begin(ctx, transcript.Summary{
		Kind: kind, By: by, Trigger: transcript.OnBackground, Span: transcript.Span{From: from, To: to},
		FromTime: storetest.Day, ToTime: storetest.Day, Children: children, AwaitsModel: h.draw.IntN(2) == 0,
	}))(h.t)
	check.Must(j.Store(ctx, summarize.Summary{Text: "a summary", Tokens: 7}))(h.t)
}

// cover applies everything prepared.
func (h *stateHistory) cover(s *transcript.State) (c transcript.Change, err error) {
	behind, err := h.c.Compactions().Stretches(ctx, s.CoverNeeds(transcript.IDs(s.Prepared)))
	c, _, _ = s.Cover(transcript.IDs(s.Prepared), 0, behind)
	return c, err
}

// check writes the change that decide returns, and reads the state back.
func (h *stateHistory) check(name string, decide func(*transcript.State) (transcript.Change, error)) {
	h.t.Helper()
	before := storetest.StateOf(h.t, h.c)
	change, err := decide(before)
	if errors.Is(err, transcript.ErrEmpty) {
		return // there is nothing to do
	}
	check.NoError(h.t, err)
	check.Must(h.c.Compactions().Commit(ctx, before, change))(h.t)
	if got, want := describe(storetest.StateOf(h.t, h.c)), describe(before.With(change)); got != want {
		h.t.Fatalf("%s\nread back:\n%s\nin memory:\n%s", name, got, want)
	}
}

// describe formats what a State and the rows have in common: the rows have their own IDs for new
// summaries.
func describe(s *transcript.State) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.Sessions, s.HeadVersion, s.NextSeq, s.SessionStart, s.InSession, s.ClearedTo, s.Spared)
	for _, row := range s.Summaries {
		fmt.Fprintln(&b, row.Kind, row.By, row.Trigger, row.Span, row.FromTime.Unix(), row.ToTime.Unix(), row.Messages, len(row.Children), row.Text, row.Tokens, row.AwaitsModel)
	}
	fmt.Fprintln(&b, transcript.IDs(s.Prepared), transcript.IDs(s.Running))
	for m := range s.Messages.In(transcript.Span{From: s.SessionStart, To: s.NextSeq}) {
		fmt.Fprint(&b, m.Seq, " ")
	}
	return b.String()
}
