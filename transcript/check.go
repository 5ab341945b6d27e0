package transcript

import (
	"fmt"
	"slices"
	"strings"
)

// Check returns which invariants the state breaks; nil: none. Each message of the session is
// verbatim or covered by exactly one applied summary; summaries are ordered, do not overlap, and
// cut neither a turn nor a session; verbatim messages are newer than every summary. What
// Provenance also needs, the messages and children behind summaries, is in the store.
func (s *State) Check() error {
	for _, check := range []func() error{s.checkMarks, s.checkMessages, s.checkSummaries, s.checkCoverage} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) checkMarks() error {
	m := s.Marks
	switch {
	case m.HeadVersion > m.Version:
		return fmt.Errorf("the head is of version %d, the state of version %d", m.HeadVersion, m.Version)
	case m.SessionStart < 1 || m.SessionStart > m.NextSeq:
		return fmt.Errorf("the session begins at %d, and the next message is %d", m.SessionStart, m.NextSeq)
	case m.Open != 0 && (m.Open < m.SessionStart || m.Open >= m.NextSeq):
		return fmt.Errorf("turn %d is open, in the session from %d, before %d", m.Open, m.SessionStart, m.NextSeq)
	}
	last := int64(0)
	for _, session := range s.Sessions {
		if session.From <= last || session.To < session.From || session.To >= s.SessionStart {
			return fmt.Errorf("a session from %d to %d follows %d, and the current one begins at %d", session.From, session.To, last, s.SessionStart)
		}
		last = session.To
	}
	return nil
}

func (s *State) checkMessages() error {
	var last Message
	for _, m := range s.Messages {
		switch {
		case m.Seq <= last.Seq:
			return fmt.Errorf("message %d follows message %d", m.Seq, last.Seq)
		case m.Seq < s.SessionStart || m.Seq >= s.NextSeq:
			return fmt.Errorf("message %d is verbatim, and the session has %d to %d", m.Seq, s.SessionStart, s.NextSeq-1)
		case m.Turn > m.Seq || m.Turn < last.Turn:
			return fmt.Errorf("message %d is of turn %d, behind turn %d", m.Seq, m.Turn, last.Turn)
		case s.Covered(m.Seq):
			return fmt.Errorf("message %d is verbatim and behind a summary", m.Seq)
		case s.Covered(m.Turn):
			return fmt.Errorf("a summary cuts turn %d before message %d", m.Turn, m.Seq)
		}
		last = m
	}
	return nil
}

// checkSummaries checks the order and form of the applied summaries, and the sessions of jobs.
func (s *State) checkSummaries() error {
	last := int64(0)
	ids := make(map[int64]bool)
	for _, row := range s.Summaries {
		switch {
		case row.From <= last || row.To < row.From:
			return fmt.Errorf("summary %d of messages %d to %d and the one before it, up to %d, overlap", row.ID, row.From, row.To, last)
		case row.State != Applied:
			return fmt.Errorf("summary %d is %s and applied", row.ID, row.State)
		case row.Messages < 0:
			return fmt.Errorf("summary %d has %d messages", row.ID, row.Messages)
		case row.Level < 0 || row.Level > MaxLevel:
			return fmt.Errorf("summary %d is of level %d", row.ID, row.Level)
		case row.Kind == Rollup && len(row.Children) == 0 || row.Kind == Leaf && len(row.Children) > 0:
			return fmt.Errorf("summary %d, a %s, has %d children", row.ID, row.Kind, len(row.Children))
		case (row.Kind == Placeholder) != (row.By == Nobody) || row.Kind == Placeholder && row.Text != Summary{}.Keeping(row).Text:
			return fmt.Errorf("summary %d is a %s by %q with the text %q", row.ID, row.Kind, row.By, row.Text)
		case s.Open != 0 && row.To >= s.Open:
			return fmt.Errorf("summary %d covers the open turn %d", row.ID, s.Open)
		}
		last = row.To
	}
	for _, row := range slices.Concat(s.Summaries, s.Prepared, s.Running) {
		if !s.inOneSession(row.Span) {
			return fmt.Errorf("summary %d over %d to %d reaches over the end of a session", row.ID, row.From, row.To)
		}
		if err := row.checkLines(); err != nil {
			return fmt.Errorf("summary %d: %w", row.ID, err)
		}
		if ids[row.ID] || row.ID < 1 || row.ID >= s.NextSummary {
			return fmt.Errorf("summary %d is there twice, or the next one is %d", row.ID, s.NextSummary)
		}
		ids[row.ID] = true
	}
	return nil
}

// checkLines checks that what is known of the text's lines belongs to it and to the summary's messages.
func (sum Summary) checkLines() error {
	lines := strings.Split(sum.Text, "\n")
	last := -1
	for _, l := range sum.Lines {
		switch {
		case l.At <= last || l.At >= len(lines) || strings.TrimSpace(lines[l.At]) == "":
			return fmt.Errorf("of %d lines, line %d is described after line %d", len(lines), l.At, last)
		case !slices.IsSorted(l.Seqs) || len(l.Seqs) > 0 && !l.Beside && (!sum.Covers(l.Seqs[0]) || !sum.Covers(l.Seqs[len(l.Seqs)-1])):
			return fmt.Errorf("line %d of a summary of messages %d to %d rests on messages %v", l.At, sum.From, sum.To, l.Seqs)
		}
		last = l.At
	}
	return nil
}

func (s *State) checkCoverage() error {
	behind := 0
	last := int64(0)
	for _, row := range s.Summaries {
		if row.From >= s.SessionStart {
			behind = behind + row.Messages
			last = row.To
		}
	}
	if n := len(s.Messages) + behind; n != s.InSession {
		return fmt.Errorf("%d messages are verbatim and %d behind summaries, of %d", len(s.Messages), behind, s.InSession)
	}
	if len(s.Messages) > 0 && s.Messages[0].Seq < last {
		return fmt.Errorf("message %d is verbatim, and newer ones up to %d are behind a summary", s.Messages[0].Seq, last)
	}
	return nil
}
