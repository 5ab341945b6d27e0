package transcript_test

import (
	"testing"

	"cairn/testkit/check"
	"cairn/transcript"
)

// An append raises no version, and a commit takes the rows that the store gave IDs.
func TestStateFollowsTheDisk(t *testing.T) {
	empty := transcript.NewState(transcript.Head{Version: 3, Start: 1}, nil, nil, 1)
	var messages []transcript.Message
	for seq := int64(1); seq <= 3; seq++ {
		messages = append(messages, transcript.Message{Seq: seq, Turn: seq})
	}
	s := empty.Stored(4, messages...)
	check.NoError(t, s.Check())
	check.Equal(t, "version", s.HeadVersion, 3)
	check.Equal(t, "next", s.NextSeq, 4)
	change := s.Truncate([]transcript.Summary{{Span: transcript.Span{From: 1, To: 2}, Trigger: transcript.OnEmergency}}, 0)
	head := s.With(change).Head()
	head.Stack[0].ID = 7
	next := s.Committed(change, head)
	check.NoError(t, next.Check())
	check.Equal(t, "version", next.HeadVersion, 4)
	check.EqualAll(t, "summaries", transcript.IDs(next.Summaries), []int64{7})
	check.Len(t, "verbatim messages", next.Messages, 1)
	check.Len(t, "verbatim messages before", s.Messages, 3)
	noted := next.NoteDeclined(7, transcript.Declined{Times: 2, By: "m"})
	check.Equal(t, "declined", noted.Summaries[0].Declined.Times, 2)
	check.Equal(t, "declined before", next.Summaries[0].Declined.Times, 0)
	ready := []transcript.Summary{{ID: 8, State: transcript.Prepared, Span: transcript.Span{From: 3, To: 3}}}
	check.EqualAll(t, "prepared", transcript.IDs(next.WithPrepared(ready).Prepared), []int64{8})
}
