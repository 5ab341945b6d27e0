package channel_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/compactor/summarize"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

// summarized returns a rig whose first four messages have an applied summary: its second line has no evidence, and two
// lines were dropped.
func summarized(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, echo)
	for n := range 6 {
		r.say(fmt.Sprintf("message-%d", n+1), false)
	}
	r.waitForReplies()
	c := storetest.Find(t, r.store, place)
	j := storetest.Worker(t, c, 1, 4)
	text := "## Facts\n- the boat is red (#2, #3)\n- it leaves at nine"
	lines := []transcript.Line{{At: 1, Seqs: []int64{2, 3}}, {At: 2}}
	sum := transcript.Summary{Text: text, Lines: lines}
	lost := []transcript.DroppedLine{{Text: "the boat is blue (#2)", Why: "#2 has red"}}
	check.Must(j.Store(storetest.Ctx, summarize.Summary{Text: text, Lines: lines, Dropped: 2, DroppedLines: lost, Tokens: sum.Cost()}))(t)
	storetest.ApplyRows(t, c, j.ID())
	r.restart()
	return r
}

func TestLinesOfSummaries(t *testing.T) {
	r := summarized(t)
	r.wantAnswer("/summaries", "2 lines, 1 without evidence, 2 dropped: /expand 1")
	r.wantAnswer("/summaries 1", "1. the boat is red (#2, #3) · rests on #2, #3", "2. it leaves at nine · no evidence", "Dropped: the boat is blue (#2) (#2 has red)", "/summaries edit 1 1")
	check.Lacks(t, "prompt", r.promptText(), "blue")
	evidence := r.wantAnswer("/summaries 1 1", "the boat is red", "message-2", "message-3")
	check.Lacks(t, "evidence", evidence, "message-1")
	check.Lacks(t, "evidence of a line without any", r.run("/summaries 1 2"), "message-")
	check.Contains(t, "prompt", r.promptText(), "it leaves at nine [no evidence]")
	for line, want := range map[string]string{
		"/summaries 7": "There is no summary 7", "/summaries 7 1": "There is no summary 7", "/summaries 1 3": "Summary 1 has no line 3",
		"/summaries x": "Use /summaries 12 for a summary", "/summaries 1 2 3": "Use /summaries 12 for a summary", "/summaries edit": "Use /summaries 12 for a summary", "/summaries edit 1": "Use /summaries 12 for a summary",
		"/summaries edit 7 1 x": "There is no summary 7", "/summaries edit 1 3 x": "Summary 1 has no line 3",
		"/summaries edit 1 1 " + strings.Repeat("x", 501): "That line is too long: at most 500 characters.",
	} {
		r.wantAnswer(line, want)
	}
	context := check.Must(r.hub.Operator().Context(storetest.Ctx, place))(t)
	row := context.Stack[0]
	check.That(t, row.Without == 1 && row.Dropped == 2 && len(row.Lines) == 2 && *row.Lines[0].Evidence && !*row.Lines[1].Evidence && context.Evidence.Lines == 2, "%+v", context)
	check.Contains(t, "/context", r.run("/context"), "Lines of the newest summaries (1): 2; without evidence: 1")
}

func TestLineThatRestsOnAnEarlierSummary(t *testing.T) {
	r := summarized(t)
	for _, line := range []struct{ lines, want string }{
		{`[{"at": 2, "seqs": [2], "beside": true, "earlier": 1}]`, "2. it leaves at nine · rests on summary 1 (#2)"},
		{`[{"at": 2, "beside": true, "earlier": 1}]`, "2. it leaves at nine · rests on summary 1"},
		{`[{"at": 2, "beside": true}]`, "2. it leaves at nine · rests on what was shown beside these messages"},
	} {
		storetest.Run(t, r.store, "UPDATE compactions SET lines = ?", line.lines)
		r.wantAnswer("/summaries 1", line.want)
	}
	r.restart()
	check.Lacks(t, "prompt", r.promptText(), "nine [no evidence]")
	r.wantAnswer("/summaries edit 1 2 it leaves at ten", "Rewrote line 2 of summary 1")
}

func TestRewritingLineOfSummary(t *testing.T) {
	r := summarized(t)
	r.wantAnswer("/summaries EDIT 1 2 it  leaves at ten", "Rewrote line 2 of summary 1", "The new version is summary 2")
	r.wantAnswer("/summaries 2", "2. it leaves at ten · written by", "Removed or rewritten by", ": it leaves at nine")
	check.Lacks(t, "prompt", r.promptText(), "it leaves at nine")
	check.Contains(t, "prompt", r.promptText(), "- it leaves at ten\n")
	for _, line := range []string{"/summaries 1", "/summaries 1 2", "/summaries edit 1 2 again", "/expand 1"} {
		r.wantAnswer(line, "Summary 1 was replaced by summary 2; /summaries 2 shows its lines.")
	}
	check.Contains(t, "/context", r.run("/context"), "Lines of the newest summaries (1): 2; without evidence: 0")
	r.wantAnswer("/summaries edit 2 2 it leaves at ten", "already says that")
	r.wantAnswer("/summaries edit 2 1", "Removed line 1 of summary 2", "The new version is summary 3")
	r.wantAnswer("/summaries edit 3 1", "It is the only line of summary 3")
	r.restart()
	r.wantAnswer("/undo", "Undone: the summary of messages #1 to #4 is back to the version before its line was rewritten.")
	r.wantAnswer("/undo", "before its line was rewritten")
	r.wantAnswer("/summaries 3", "Summary 3 was undone.")
	check.Contains(t, "/context", r.run("/context"), "Lines of the newest summaries (1): 2; without evidence: 1")
	check.Contains(t, "prompt", r.promptText(), "it leaves at nine [no evidence]")
	r.wantAnswer("/undo", "The earlier content is back")
	t.Run("who may undo may rewrite, and others may look", func(t *testing.T) {
		r := summarized(t)
		r.says(ada, place, "/summaries edit 1 2 x", "Only people who manage this place may rewrite a summary")
		r.says(ada, place, "/summaries 1", "it leaves at nine")
	})
	t.Run("secrets are masked", func(t *testing.T) {
		r := summarized(t)
		r.run("/summaries edit 1 2 the key is ghp_0123456789abcdefghijABCDEFGHIJ012345")
		check.Lacks(t, "prompt", r.promptText(), "ghp_0123456789")
	})
	t.Run("there is room for a quarter of the stack", func(t *testing.T) {
		r := summarized(t).withWindow(2000)
		long := strings.TrimSpace(strings.Repeat("word ", 99))
		r.wantAnswer("/summaries edit 1 2 "+long, "There is no room for that line: lines that people wrote would need")
	})
	t.Run("the owner may do it from outside", func(t *testing.T) {
		r := summarized(t)
		e := check.Must(channel.RewriteLine(storetest.Ctx, r.hub.Operator(), place, 1, 2, "it leaves at ten", access.Person{ID: "owner", Name: "owner"}))(t)
		check.That(t, e.ID == 2 && strings.Contains(e.Summary, "it leaves at ten"), "%+v", e)
	})
}

func TestLinesOfSummariesThatAreNotShown(t *testing.T) {
	for state, want := range map[string]string{
		"rolled_up": "Summary 1 is part of summary ",
		"replaced":  "Summary 1 was replaced by summary 2; /summaries 2 shows its lines.",
		"undone":    "Summary 1 was undone.",
		"running":   "Summary 1 is still being written.",
		"prepared":  "Summary 1 is ready and will be applied as soon as there is room.",
		"stale":     "Summary 1 was never applied: it failed, or its messages changed before it was ready.",
	} {
		t.Run(state, func(t *testing.T) {
			r := summarized(t)
			r.run("/summaries")
			r.waitForReplies() // opening the conversation would fail what is being written
			const over = `INSERT INTO compactions (conversation, kind, made_by, state, trigger, level, from_seq, to_seq, from_at, to_at, messages, text, tokens, created_at, children)
					SELECT conversation, 'rollup', made_by, 'applied', trigger, 1, from_seq, to_seq, from_at, to_at, messages, text, tokens, created_at, '1' FROM compactions WHERE id = 1;`
			r.execute(over + "UPDATE compactions SET state = '" + state + "' WHERE id = 1")
			if state == "rolled_up" {
				r.restart() // the prompt has the other one
			}
			r.wantAnswer("/summaries 1", want)
		})
	}
}
