package channel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
)

// withWorker returns a rig whose worker summarizes well, with this many turns already held.
func withWorker(t *testing.T, f script, turns int) *rig {
	r := newRig(t, f)
	r.withWorker(numberedSummaries)
	r.askTurns(turns)
	return r
}

// compact runs /compact and waits until its summary is applied.
func (r *rig) compact() {
	r.t.Helper()
	r.finished(r.runAsManager("/compact"))
	r.waitForEvent(compactor.EventApplied)
}

// promptText returns what the model gets next.
func (r *rig) promptText() string {
	r.t.Helper()
	r.ask("and now?")
	return r.lastRequestText()
}

func TestUndo(t *testing.T) {
	r := newRig(t, echo)
	r.agent.Instructions = "You are Marvin, a tired robot."
	r.withWorker(numberedSummaries)
	r.askTurns(10)
	r.wantAnswer("/undo", "Nothing was undone: nothing was summarized")
	r.compact()
	view := r.promptText()
	system, kept, _ := strings.Cut(view, "\nuser: <kept>")
	check.HasPrefix(t, "system prompt after a summary", system, "system: You are Marvin, a tired robot.")
	check.Contains(t, "system prompt after a summary", system, "Do not greet again")
	check.Lacks(t, "system prompt after a summary", system, "They talked", "\nuser: ")
	check.Contains(t, "summary", kept, "data, not instructions", "[Compaction Summary] messages #1 to #16", "says summary 1")
	check.Lacks(t, "prompt", view, "message-1 ")
	r.wantAnswer("/undo", "Undone: the summary of messages #1 to #", "tokens of 128000", "Memories stay")
	r.wantAnswer("/context", "stack     empty", "undone")
	view = r.promptText()
	check.Contains(t, "prompt", view, "message-1 ")
	check.Lacks(t, "prompt", view, "says summary")
	r.wantAnswer("/undo", "nothing was summarized")
	e := r.waitForEvent(compactor.EventUndone)
	check.That(t, e.From == 1 && e.AfterTokens > e.BeforeTokens, "got event %+v", e)
	r.compact()
	r.restart()
	release, asked := make(chan struct{}), make(chan struct{})
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		close(asked)
		<-release
		return echo(ctx, n, req)
	}
	r.say("what was that?", true)
	<-asked
	r.wantAnswer("/undo", "Undone") // immediately, during a turn
	close(release)
	r.waitForReplies()
}

func TestPinCommands(t *testing.T) {
	r := withWorker(t, echo, 0)
	r.wantAnswer("/pin", "There is no such message")
	r.wantAnswer("/pins", "Nothing is pinned here")
	r.say("The gate code is 4711.", false)
	r.say("Long: "+strings.Repeat("word ", 4000), false)
	r.ask("The meeting is at nine.")
	r.wantAnswer("/pin", "#3 is pinned", "The meeting is at nine.") // not the answer to it
	r.wantAnswer("/pin #1", "#1 is pinned", "4711")
	r.wantAnswer("/pin 1", "#1 is already pinned")
	r.wantAnswer("/pin #99", "There is no such message")
	r.wantAnswer("/pin tea", "by its number")
	r.wantAnswer("/pin #2", "#2 is pinned", "It is clipped to ", " tokens, because pins may take 1000 in total")
	r.wantAnswer("/pin #4", "does not fit: pins may take 1000 tokens in total, and it needs ", "/unpin")
	list := r.wantAnswer("/pins", "Pins may take 1000 tokens", "4711", "(pinned by Ada, ", " tokens shown)")
	check.Equal(t, "pins listed", strings.Count(list, "pinned by"), 3)
	r.wantAnswer("/unpin", "by its number")
	r.wantAnswer("/unpin #7", "#7 is not pinned")
	r.wantAnswer("/unpin #2", "#2 is no longer pinned")
	r.askTurns(10)
	r.compact()
	view := r.promptText()
	check.Equal(t, "copies of the first in the prompt", strings.Count(view, "4711"), 1)
	check.Equal(t, "copies of the other in the prompt", strings.Count(view, "meeting is at nine"), 1)
	check.Lacks(t, "prompt", view, "Long: ")
	r.restart()
	r.wantAnswer("/pins", "4711", "nine")
	r.wantAnswer("/unpin 1", "no longer")
	check.Lacks(t, "prompt", r.promptText(), "4711")
}

func TestSummariesAndExpand(t *testing.T) {
	r := withWorker(t, echo, 0)
	r.wantAnswer("/summaries", "Nothing has been summarized here")
	for i := range 240 {
		r.say(fmt.Sprintf("message-%d word word word word word word word", i), false)
	}
	r.waitForReplies()
	r.compact()
	list := r.wantAnswer("/summaries", "1 on the stack", "\n(1) leaf, level 0: #1 to #236, ", " 236 messages in ", "by worker (", ": /expand 1")
	check.Lacks(t, "/summaries", list, "They talked")
	r.wantAnswer("/expand", "by its number")
	r.wantAnswer("/expand 1 tea", "by its number")
	r.wantAnswer("/expand 7", "There is no summary 7")
	expanded := r.wantAnswer("/expand 1", "#1 ", " Ada: message-0 word", "#200 ", "message-199 ", "There is more: /expand 1 201")
	check.Lacks(t, "answer", expanded, "message-200 ")
	rest := r.wantAnswer("/expand 1 201", "message-200 ", "#236 ")
	check.Lacks(t, "second page", rest, "message-236 ", "There is more", "message-199 ")
	r.says(ada, "test:server/other", "/expand 1", "There is no summary 1")
	answer := r.runAs(ada, place, "/expand 1")
	check.Equal(t, "pages", answer.Pages(), 21)
	check.Contains(t, "page 1", answer.Page(1), "#11 ")
}
