package compactor_test

import (
	"context"
	"fmt"
	"testing"

	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/memory"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// A deletion that an emergency notices while the disk takes no placeholder: what is hidden in memory alone lacks the message,
// so it is written later.
func TestHiddenInMemoryLacksWhatWasDeletedMeanwhile(t *testing.T) {
	r := newRig(t, 8000, nil)
	r.policy.Enabled = false // only emergency
	for i := 0; r.share() < 0.5; i++ {
		r.deliverNotes(fmt.Sprintf("note %d %s", i, filler(60)))
	}
	check.Must(r.removeWithoutNotice(2))(t)
	repair := r.refuse(t, "INSERT ON compactions")
	r.resize(3000)
	r.c.Overflow(t.Context(), 1)
	check.Contains(t, "view", r.render(), "older messages were truncated")
	r.c.Reread() // the deletion's notice
	repair()
	r.waitIdle()
	stack := r.storedHead().Stack
	check.That(t, len(stack) > 0, "what is hidden is not written: the view shows %+v", r.c.Status().Stack)
	r.checkShown(t, r.c.Status())
	r.renderAfterRestart()
}

// A memory may go with the message that it came from, which the running turn's context does not quote.
func TestRunningContextLosesMemoriesOfDeletedMessage(t *testing.T) {
	r := newRig(t, 8000, nil)
	r.deliverMany(5, 10)
	r.begin(r.deliver("and?", true), compactor.Context{Text: "recalled", Quotes: llm.Quotes{Memories: []int64{1}}})
	r.remove(2)
	check.Lacks(t, "request", r.render(), "recalled")
}

func TestRunningContextLosesChangedMemory(t *testing.T) {
	for name, change := range map[string]func(memory.Memories, context.Context, int64) error{
		"forgotten": memory.Memories.Forget, "purged": memory.Memories.Purge,
		"edited": func(ms memory.Memories, ctx context.Context, id int64) error {
			return ms.Edit(ctx, id, "The gate opens at nine.")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 8000, nil)
			r.deliverMany(5, 10)
			old := r.c.History().version()
			kept := check.Must(memory.Of(r.conv).Keep(t.Context(), memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Content: "The gate opens at eight.", Kind: "fact"}}))(t)
			quoted := compactor.Context{Text: "recalled", Quotes: llm.Quotes{Memories: []int64{kept.ID}}}
			r.begin(r.deliver("and?", true), quoted)
			check.NoError(t, change(memory.Of(r.conv), t.Context(), kept.ID))
			r.c.Reread()
			check.Lacks(t, "request", r.render(), "recalled")
			check.That(t, !r.c.History().Begin(quoted, old), "what was recalled before the change is shown")
		})
	}
}

// TestContextOfEarlierHeadDoesNotBegin: what was recalled may have been edited before the turn begins.
func TestContextOfEarlierHeadDoesNotBegin(t *testing.T) {
	r := newRig(t, 8000, nil)
	r.deliverMany(5, 10)
	r.deliver("and?", true)
	begin := func(text string, version int64) bool {
		return r.c.History().Begin(compactor.Context{Text: text, Quotes: llm.Quotes{Messages: []int64{2}}}, version)
	}
	old := r.c.History().version()
	r.edit(2, "something else")
	check.That(t, !begin("old words", old), "the old words are shown")
	check.That(t, begin("new words", r.c.History().version()), "the new words are not shown")
	check.Contains(t, "request", r.render(), "new words")
}

func TestRecapNeverRepeatsDeletedText(t *testing.T) {
	r := newRig(t, 8000, nil)
	disk := r.faultyDisk()
	r.talk("My very first words are tea.")
	r.talk("Others are coffee.")
	disk.blind = true
	r.remove(1)
	recap, err := r.c.Recap(t.Context(), "")
	check.Lacks(t, "recap", fmt.Sprint(recap.Text, err), "very first")
}

func TestDeletionEndsWorker(t *testing.T) {
	r := newRig(t, 100_000, new(llmtest.Model))
	r.worker.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n > 1 {
			return goodSummary(ctx, n, req)
		}
		r.remove(3)
		return llmtest.Use(llmtest.Call("1", "memory_save", nil)), nil
	}
	r.deliverMany(20, 30)
	r.compactAndWait()
	check.Contains(t, "why it ended", r.last(compactor.EventNoop).Error, "its messages have changed since")
	r.compactAndWait()
	check.Lacks(t, "request after the deletion", inLines(r.worker.Requests()[1].Messages), "note 2 ")
}
