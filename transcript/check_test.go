package transcript_test

import (
	"slices"
	"testing"

	"cairn/internal/check"
	"cairn/transcript"
)

// TestCheck breaks a valid state in each way that Check has to notice.
func TestCheck(t *testing.T) {
	for _, broken := range []struct {
		how  string
		do   func(s *transcript.State)
		want string
	}{
		{"the head is newer than the state", func(s *transcript.State) { s.HeadVersion = s.Version + 1 }, "the head is of version"},
		{"the session begins behind the end", func(s *transcript.State) { s.SessionStart = s.NextSeq + 1 }, "the session begins"},
		{"a message that was never said waits", func(s *transcript.State) { s.Open = s.NextSeq }, "is open"},
		{"a session reaches into the next", func(s *transcript.State) { s.Sessions = []transcript.Span{{From: 1, To: 9}} }, "a session from"},
		{"a message is beyond the end", func(s *transcript.State) { s.NextSeq-- }, "is verbatim, and the session"},
		{"a message is of a later turn", func(s *transcript.State) { replace(s, transcript.Message{Seq: 7, Turn: 8}) }, "is of turn"},
		{"a message is behind a summary and verbatim", func(s *transcript.State) { s.Messages = s.Messages.Insert([]transcript.Message{{Seq: 1, Turn: 1}}) }, "verbatim and behind"},
		{"a summary cuts a turn", func(s *transcript.State) { replace(s, transcript.Message{Seq: 6, Turn: 4}) }, "cuts turn"},
		{"summaries overlap", func(s *transcript.State) { s.Summaries[1].From = 2 }, "overlap"},
		{"an undone summary is shown", func(s *transcript.State) { s.Summaries[0].State = transcript.Undone }, "is undone"},
		{"a summary is of fewer than no messages", func(s *transcript.State) { s.Summaries[0].Messages = -1 }, "has -1 messages"},
		{"a summary is of too high a level", func(s *transcript.State) { s.Summaries[0].Level = 13 }, "level"},
		{"a rollup has no children", func(s *transcript.State) { s.Summaries[0].Kind = transcript.Rollup }, "children"},
		{"a placeholder has a text", func(s *transcript.State) { s.Summaries[0].Kind = transcript.Placeholder }, "with the text"},
		{"the open turn is hidden", func(s *transcript.State) { s.Open = 4 }, "covers the open turn"},
		{"a summary reaches over the end of a session", func(s *transcript.State) {
			s.Sessions, s.SessionStart = []transcript.Span{{From: 1, To: 3}}, 4
		}, "over the end of a session"},
		{"an id is given twice", func(s *transcript.State) { s.NextSummary = 2 }, "is there twice"},
		{"a message is in no place", func(s *transcript.State) { s.Messages = s.Messages.Without(transcript.Span{From: 6, To: 6}) }, "behind summaries, of"},
		{"a message is behind newer summaries", func(s *transcript.State) {
			s.Messages = s.Messages.Insert([]transcript.Message{{Seq: 1, Turn: 1}, {Seq: 2, Turn: 2}})
			s.Summaries = s.Summaries[1:]
		}, "and newer ones"},
	} {
		t.Run(broken.how, func(t *testing.T) {
			c := said(t, 8)
			c.summarize(job{from: 1, to: 2})
			c.summarize(job{from: 3, to: 5})
			s := *c.s
			s.Summaries = slices.Clone(s.Summaries)
			broken.do(&s)
			check.ErrorContains(t, "Check returns", s.Check(), broken.want)
		})
	}
}

func replace(s *transcript.State, m transcript.Message) {
	s.Messages = s.Messages.Without(transcript.Span{From: m.Seq, To: m.Seq}).Insert([]transcript.Message{m})
}
