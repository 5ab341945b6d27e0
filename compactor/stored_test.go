package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/compactor"
	"cairn/store"
	"cairn/transcript"
)

// checkPublishedState compares the state for decisions with the invariants of a State, and with the
// disk.
func (r *rig) checkPublishedState() (err error) {
	r.c.do(func() {
		if told := r.c.Compactor.Transcript(); told != nil {
			err = r.checkSameOnDisk(told)
		}
	})
	return err
}

func (r *rig) checkSameOnDisk(told *transcript.State) error {
	if err := told.Check(); err != nil {
		return err
	}
	return r.onDisk(func(conv *store.Conversation, state transcript.Snapshot) error {
		return compareStates(told, conv, state)
	})
}

func compareStates(told *transcript.State, conv *store.Conversation, state transcript.Snapshot) error {
	var prepared []transcript.Summary // without stale ones, which are noticed when all work is done
	for _, row := range told.Prepared {
		ended, err := conv.Compactions().Ended(context.Background(), []int64{row.ID})
		if err != nil {
			return err
		}
		if len(ended) == 0 || ended[0].State != transcript.Stale {
			prepared = append(prepared, row)
		}
	}
	told.Prepared = prepared
	if got, want := describe(told), describe(state.State()); got != want {
		return fmt.Errorf("the state for decisions differs from the disk:\n%s--- on disk\n%s", got, want)
	}
	return nil
}

// describe prints the stored parts of a State, without running rows, which a restart ends.
func describe(s *transcript.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d, next %d, session from %d of %d messages, cleared to %d, spared %v, sessions %v\n",
		s.HeadVersion, s.NextSeq, s.SessionStart, s.InSession, s.ClearedTo, s.Spared, s.Sessions)
	prepared := slices.Clone(s.Prepared)
	slices.SortFunc(prepared, func(a, b transcript.Summary) int { return int(a.ID - b.ID) })
	for _, row := range slices.Concat(s.Summaries, prepared) {
		fmt.Fprintln(&b, row.ID, row.Kind, row.By, row.State, row.Trigger, row.Level, row.Span, row.FromTime.Unix(), row.ToTime.Unix(),
			row.Messages, row.Children, row.Tokens, row.AwaitsModel, row.Text)
	}
	for m := range s.Messages.All() {
		fmt.Fprint(&b, m.Seq, "/", m.Turn, " ")
	}
	return b.String()
}

// decide commits a decision on the state of a conversation without an engine.
func decide(c *store.Conversation, what func(*transcript.State) transcript.Change) error {
	loaded, err := c.Compactions().Load(context.Background())
	if err != nil {
		return err
	}
	s := loaded.State()
	_, err = c.Compactions().Commit(context.Background(), s, what(s))
	return err
}

// hide puts a placeholder over messages, as an emergency does.
func hide(c *store.Conversation, from, to int64) error {
	return decide(c, func(s *transcript.State) transcript.Change {
		row := compactor.Compaction{Trigger: compactor.OnEmergency, Span: compactor.Span{From: from, To: to}}
		return s.Truncate([]compactor.Compaction{row}, 0)
	})
}
