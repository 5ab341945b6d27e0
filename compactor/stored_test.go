package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/compactor"
	"cairn/memory"
	"cairn/transcript"
)

// checkTold holds what decisions are made on to the invariants of a State, and to what is on
// disk at that instant. The disk must have taken whatever it was given.
func (r *rig) checkTold() (err error) {
	r.c.do(func() {
		told := r.c.Compactor.Transcript()
		if told == nil || r.look == nil {
			return
		}
		if err = told.Check(); err != nil {
			return
		}
		var conv *memory.Conversation
		var state compactor.State
		if conv, err = r.look.Find(context.Background(), r.name); err != nil {
			return
		}
		if state, err = conv.Load(context.Background()); err != nil {
			return
		}
		if got, want := describe(told), describe(state.Transcript()); got != want {
			err = fmt.Errorf("decisions are made on another state than the one on disk:\n%s--- on disk\n%s", got, want)
		}
	})
	return err
}

// describe writes what of a State the disk knows too, but for running rows: a restart ends them.
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
		fmt.Fprint(&b, m.Seq, "/", m.Turn, "/", m.Role, "/", m.Addressed, " ")
	}
	return b.String()
}
