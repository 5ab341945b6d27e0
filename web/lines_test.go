package web

import (
	"context"
	"fmt"
	"testing"

	"cairn/channel/report"
	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

// linedSummary adds a conversation with an applied summary; its second line has no evidence, and it is named in r.lined.
func (r *rig) linedSummary(conversation string) {
	r.t.Helper()
	c := r.past(conversation, "We sail to Elba.", "The boat is red.", "Red, yes.", "Fine.", "See you.", "Bye.")
	ctx := context.Background()
	row := transcript.Summary{
		Kind: transcript.Leaf, By: transcript.Worker, Trigger: transcript.OnBackground, Span: transcript.Span{From: 1, To: 4},
		FromTime: storetest.Day, ToTime: storetest.Day, Messages: 4,
	}
	j := must(memory.Of(c).Records().Begin(ctx, row))
	row.Text = "## Goals\n- sail to Elba (#1)\n\n## Facts\n- the boat is red (#2, #3)\n- it leaves at nine"
	row.Lines = []transcript.Line{{At: 1, Seqs: []int64{1}}, {At: 4, Seqs: []int64{2, 3}}, {At: 5}}
	must(j.Store(ctx, summarize.Summary{Text: row.Text, Lines: row.Lines, Dropped: 1, DroppedLines: []transcript.DroppedLine{{Text: "the boat is blue", Why: "#2 has red"}}, Tokens: row.Cost()}))
	storetest.ApplyRows(r.t, c, j.ID())
	r.lined = j.ID()
}

func TestLinesOfSummary(t *testing.T) {
	const boat = "terminal:boat"
	r := newRig(t, rigOptions{before: func(r *rig) { r.linedSummary(boat) }}) // later the hub might take up the unfinished compaction
	list := get[summaryList](r, at(boat, "/summaries"))
	s := list.Stack[0]
	check.That(t, len(s.Lines) == 3 && s.Without == 1 && s.Dropped == 1 && s.DroppedLines[0] == report.DroppedLine{Text: "the boat is blue", Why: "#2 has red"} && list.Evidence.Lines == 3 && list.Evidence.Without == 1, "%+v", list)
	check.That(t, s.Lines[1].Text == "the boat is red (#2, #3)" && *s.Lines[1].Evidence && !*s.Lines[2].Evidence, "%+v", s.Lines)
	check.Contains(t, "text, as the model sees it", s.Text, "- it leaves at nine [no evidence]")
	line := func(id int64, number int) string { return at(boat, fmt.Sprintf("/summaries/%d/lines/%d", id, number)) }
	one := get[lineAnswer](r, line(s.ID, 2))
	check.That(t, len(one.Messages) == 2 && one.Messages[0].Text == "The boat is red.", "%+v", one)
	check.Len(t, "messages of a line without evidence", get[lineAnswer](r, line(s.ID, 3)).Messages, 0)
	page := r.page(200, summaryPageOf(boat, s.ID))
	for _, want := range []string{"rests on #2, #3", "Red, yes.", "no evidence</span>", "Lines that are not in it (1)", "the boat is blue", "#2 has red", "Lines: 3; without evidence: 1; dropped because the messages contradict them: 1.", `data-next="/c/terminal:boat/summaries/"`} {
		check.Contains(t, "page", page, want)
	}
	check.Lacks(t, "the part in another page", r.page(200, summaryPageOf(boat, s.ID)+"?fragment=summary"), "<textarea")
	for status, all := range map[int][]string{404: {line(s.ID, 4), line(99, 1), line(s.ID, 0)}, 422: {line(s.ID, 4), line(99, 1)}} {
		for _, path := range all {
			if status == 404 {
				r.do(404, nil, "GET "+path, "")
			} else {
				r.do(422, nil, "POST "+path, `{"text": "x"}`)
			}
		}
	}
	check.Contains(t, "without a text", r.do(422, nil, "POST "+line(s.ID, 3), `{}`), "text: is missing")
	var job jobAnswer
	r.do(200, &job, "POST "+line(s.ID, 3), `{"text": "it leaves at ten"}`)
	check.That(t, job.ID > s.ID && job.State == "rewritten", "%+v", job)
	check.Contains(t, "page", r.page(200, summaryPageOf(boat, job.ID)), "written by")
	r.do(200, &job, "POST "+line(job.ID, 3), `{"text": "it leaves at ten"}`)
	check.Equal(t, "the same again", job.Reason, "The line already says that.")
	now := get[summaryList](r, at(boat, "/summaries")).Stack[0]
	check.That(t, now.Lines[2].By == "owner" && now.Without == 0, "%+v", now)
	r.do(200, &job, "POST "+line(now.ID, 3), `{"text": ""}`)
	check.Len(t, "lines", get[summaryList](r, at(boat, "/summaries")).Stack[0].Lines, 2)
	r.do(200, nil, "POST "+at(boat, "/undo"), "")
	r.do(200, nil, "POST "+at(boat, "/undo"), "")
	check.Equal(t, "lines without evidence after both were undone", get[summaryList](r, at(boat, "/summaries")).Stack[0].Without, 1)
}
