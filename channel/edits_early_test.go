package channel

import (
	"log/slog"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
)

// A message may be edited or deleted after it was dequeued, and before the loop shows it.
func TestChangeBeforeMessageIsShown(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*conversation)
		want   string
	}{
		"deleted": {func(c *conversation) { c.deleted(storetest.Remove(t, c.records, 2)) }, ""},
		"edited":  {func(c *conversation) { c.changed(storetest.Edit(t, c.records, 2, "the code is 0000")) }, "the code is 0000"},
	} {
		t.Run(name, func(t *testing.T) {
			records := storetest.NewConversation(t)
			storetest.Deliver(t, records, storetest.Said(1, "hello"))
			conv := newConversation(&Hub{ctx: t.Context(), o: Options{Log: slog.New(slog.DiscardHandler)}}, records.Name(), nil, records)
			engine, err := compactor.Open(t.Context(), compactor.Options{
				Records: memory.Of(records).Records(), Policy: compactor.DefaultPolicy, Window: func() int { return 8_000 }, Start: conv.start,
			})
			check.NoError(t, err)
			conv.engine = engine
			dequeued := storetest.Deliver(t, records, storetest.Said(2, "the code is 4711"))
			c.change(conv)
			conv.append(dequeued)
			prompt, err := engine.Request(t.Context())
			check.NoError(t, err)
			var shown string
			for _, m := range prompt.Messages {
				shown += m.Text + "\n"
			}
			check.Lacks(t, "prompt", shown, "4711")
			check.Contains(t, "prompt", shown, "hello", c.want)
		})
	}
}
