package memory

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/transcript"
)

// What transcript decides in memory and what the rows say afterwards are the same state,
// after each step of a random history.
func TestStateAfterChangeIsStateReadBack(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := stateHistory{t: t, c: imported(t, 30), draw: rand.New(rand.NewPCG(seed, 15)), said: 30}
			for range 40 {
				h.step()
			}
		})
	}
}

// stateHistory is a random history of one conversation.
type stateHistory struct {
	t    *testing.T
	c    *Conversation
	draw *rand.Rand
	said int
}

func (h *stateHistory) step() {
	h.t.Helper()
	head := load(h.t, h.c).Head
	from := head.Start + h.draw.Int64N(max(int64(h.said)-head.Start+1, 1))
	to := min(from+h.draw.Int64N(8), int64(h.said))
	switch n := h.draw.IntN(10); {
	case n < 1 || from > to:
		h.said++
		deliver(h.t, h.c, said(h.said, "more"))
	case n < 4:
		h.summarize(leaf, []compactor.By{worker, extractive}[h.draw.IntN(2)], from, to)
	case n < 5 && len(head.Stack) > 1:
		i := h.draw.IntN(len(head.Stack) - 1)
		a, b := head.Stack[i], head.Stack[i+1]
		h.summarize(rollup, worker, a.From, b.To, a.ID, b.ID)
	case n < 7:
		h.check("apply", h.cover)
	case n < 8:
		h.check("truncate", func(_ *transaction, s *transcript.State) (transcript.Change, error) {
			row := transcript.Summary{Span: transcript.Span{From: from, To: to}, Trigger: compactor.OnEmergency, AwaitsModel: h.draw.IntN(2) == 0}
			return s.Truncate([]transcript.Summary{row}, from), nil
		})
	case n < 9 || h.draw.IntN(3) > 0:
		h.check("undo", func(tx *transaction, s *transcript.State) (transcript.Change, error) {
			u, err := h.c.latest(tx)
			if err == nil && u.Why != "" {
				err = transcript.ErrEmpty
			}
			u.change.Marks.InSession = s.InSession // latest reads no verbatim messages, and nobody writes this number
			return u.change, err
		})
	default:
		h.check("new session", func(_ *transaction, s *transcript.State) (transcript.Change, error) { return s.NewSession(true) })
	}
}

// summarize prepares a summary, which a model may be to make again.
func (h *stateHistory) summarize(kind compactor.Kind, by compactor.By, from, to int64, children ...int64) {
	h.t.Helper()
	j := must(h.c.Begin(ctx, compactor.Compaction{
		Kind: kind, By: by, Trigger: compactor.OnBackground, Span: compactor.Span{From: from, To: to},
		FromTime: day, ToTime: day, Children: children, AwaitsModel: h.draw.IntN(2) == 0,
	}))(h.t)
	must(j.Store(ctx, summarize.Summary{Text: "a summary", Tokens: 7}))(h.t)
}

// cover applies all that is prepared.
func (h *stateHistory) cover(tx *transaction, s *transcript.State) (c transcript.Change, err error) {
	var behind []transcript.Stretch
	for _, part := range s.CoverNeeds(ids(s.Prepared)) {
		n, err := h.c.between(tx, part)
		if err != nil {
			return c, err
		}
		behind = append(behind, n)
	}
	c, _, _ = s.Cover(ids(s.Prepared), 0, behind)
	return c, nil
}

// check writes what decide makes of the state and reads the state back.
func (h *stateHistory) check(name string, decide func(*transaction, *transcript.State) (transcript.Change, error)) {
	h.t.Helper()
	var want, got string
	err := h.c.store.update(ctx, func(tx *transaction) error {
		before, err := h.read(tx)
		if err != nil {
			return err
		}
		change, err := decide(tx, before)
		if errors.Is(err, transcript.ErrEmpty) {
			return nil // there is nothing to do
		}
		if err != nil {
			return err
		}
		if _, err := h.c.write(tx, before, change); err != nil {
			return err
		}
		after, err := h.read(tx)
		if err != nil {
			return err
		}
		want, got = describe(before.With(change)), describe(after)
		return nil
	})
	if err != nil || got != want {
		h.t.Fatalf("%s: %v\nread back:\n%s\nin memory:\n%s", name, err, got, want)
	}
}

func (h *stateHistory) read(tx *transaction) (*transcript.State, error) {
	jobs, err := h.c.compactions(tx, "AND state IN ('prepared', 'running') ORDER BY id")
	if err != nil {
		return nil, err
	}
	return h.c.state(tx, maxSeq, jobs)
}

// describe writes what a State and the rows have in common: the rows have ids of their own
// for new summaries, and a State that was read has of the earlier sessions only those with jobs.
func describe(s *transcript.State) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.HeadVersion, s.NextSeq, s.SessionStart, s.InSession, s.ClearedTo, s.Spared)
	for _, row := range s.Summaries {
		if row.From >= s.SessionStart {
			row = priced(row)
			fmt.Fprintln(&b, row.Kind, row.By, row.Trigger, row.Span, row.FromTime.Unix(), row.ToTime.Unix(), row.Messages, len(row.Children), row.Text, row.Tokens, row.AwaitsModel)
		}
	}
	fmt.Fprintln(&b, ids(s.Prepared), ids(s.Running))
	for m := range s.Messages.In(transcript.Span{From: s.SessionStart, To: s.NextSeq}) {
		fmt.Fprint(&b, m.Seq, " ")
	}
	return b.String()
}
