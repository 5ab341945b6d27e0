package channel_test

import (
	"context"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// What the running turn thought of a message that is then deleted is not sent again, in this turn or later.
func TestForgetMeReachesThoughtsOfRunningTurn(t *testing.T) {
	var r *rig
	call := useTool("context", map[string]any{"op": "help"})
	call.Message.Native = []byte(`{"reasoning":"the parrot is called Coco"}`)
	r = newRig(t, then(call, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 2 {
			return llmtest.Say("it has a name"), r.hub.Delete(context.Background(), place, "m1")
		}
		return llmtest.Say("well"), nil
	}))
	var page llm.Learned
	page.Learn(func(f *llm.Facts) { f.WantsReasoning = true })
	r.agent.Model = learningModel{r.model, &page}
	r.say("my parrot is called Coco", false)
	check.Equal(t, "answer", r.ask("what is its name?"), "it has a name")
	r.ask("and now?")
	for _, m := range r.model.Requests()[len(r.model.Requests())-1].Messages {
		check.That(t, !strings.Contains(m.Text+string(m.Native), "Coco"), "the last request has %q %s", m.Text, m.Native)
	}
}

// What another process deletes leaves the prompt also while a summary is being written, during which nothing is opened again.
func TestPurgeElsewhereDuringSummary(t *testing.T) {
	storetest.SQLiteOnly(t, "a number that changes with each write of another process: on PostgreSQL that leaves events to a process with a lease")
	gate := make(chan script)
	r := newRig(t, echo)
	r.withWorker(gatedWorker(gate))
	r.sendNotes(20)
	r.say("my parrot is called Coco", false)
	r.waitForReplies()
	r.run("/compact")
	other := storetest.OpenBeside(t, r.dir)
	check.NoError(t, privacy.Of(storetest.Find(t, other, place)).Delete(t.Context(), []string{"m21"}))
	check.NoError(t, other.Close())
	r.ask("what is its name?")
	check.Lacks(t, "prompt", r.lastRequestText(), "Coco")
	gate <- numberedSummaries
	check.NoError(t, r.hub.Drain(t.Context()))
}

// A focus that another process erases is not used, or stored again, by the summary being written, the next one or the settings.
func TestFocusPurgedElsewhereDuringSummary(t *testing.T) {
	storetest.SQLiteOnly(t, "a number that changes with each write of another process: on PostgreSQL that leaves events to a process with a lease")
	gate := make(chan script)
	r := newRig(t, echo)
	worker := r.withWorker(gatedWorker(gate))
	r.sendNotes(20)
	r.run("/settings focus parrots")
	r.run("/compact")
	r.sendNotes(20)
	r.wantAnswer("/compact parrots", "Scheduled")
	other := storetest.OpenBeside(t, r.dir)
	check.Must(privacy.In(other).Erase(t.Context(), store.Person{Connector: "test", ID: ada.ID}, storetest.Find(t, other, place)))(t)
	check.NoError(t, other.Close())
	r.ask("and now?")
	for range 2 {
		gate <- numberedSummaries
	}
	check.NoError(t, r.hub.Drain(t.Context()))
	check.Lacks(t, "settings", r.run("/settings focus"), "parrots")
	check.Equal(t, "summaries with the focus", storetest.Number(t, r.store, "SELECT count(*) FROM compactions WHERE focus = 'parrots'"), 0)
	for _, req := range worker.Requests()[1:] {
		check.Lacks(t, "request", textOf(req), "parrots")
	}
}

// An ordinary turn, with tools and summaries, raises no version but by its own commits.
func TestOwnCommitsAreNotReported(t *testing.T) {
	r := newRig(t, inTurn(useTool("memory_search", map[string]any{"query": "pet"}), useTool("memory_save", map[string]any{"content": "Ada likes parrots", "kind": "preference"}), llmtest.Say("ok")))
	r.withWorker(numberedSummaries)
	r.overhear("hello")
	told := 0
	r.store.Watch(func(string) { told++ })
	for range 3 {
		r.ask("what do I like?")
	}
	r.sendNotes(20)
	r.compact()
	r.ask("and now?")
	r.restart()
	r.store.Watch(func(string) { told++ })
	r.ask("and now?")
	check.Equal(t, "reports", told, 0)
}

// The end of a turn whose answer lost copies is not taken for a deletion of its question.
func TestNoticeAfterAnswerThatLostCopies(t *testing.T) {
	var r *rig
	r = newRig(t, then(useTool("recall", map[string]any{"query": "parrot"}), func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		said := llmtest.Say("it has a name")
		said.FinishReason = llm.FinishLength
		return said, r.hub.Delete(context.Background(), place, "m1")
	}))
	r.overhear("my parrot is called Coco")
	r.say("what is its name?", true)
	r.waitForReplies()
	check.Len(t, "sent", r.connector.texts(), 2)
	check.Contains(t, "transcript", texts(r.transcript()), "has been deleted")
}
