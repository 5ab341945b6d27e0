package channel

import (
	"context"
	"fmt"
	"iter"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/memory"
)

// importBatch is how many messages are written in one transaction at most.
const importBatch = 200

// Import teaches a conversation its past, in the order given, without answering
// it. It compacts as it goes and waits for the summaries, so that nothing is
// truncated. Messages whose ids are known are skipped. It returns how many were
// new; memory.ErrLive means that people have talked to the bot there.
func (h *Hub) Import(ctx context.Context, name string, past iter.Seq2[Inbound, error], progress func(done int)) (imported int, err error) {
	connector, known := h.connectors[connectorOf(name)]
	if !known {
		return 0, fmt.Errorf("no connector is open for %q", name)
	}
	records, err := h.o.Store.Conversation(ctx, name)
	if err != nil {
		return 0, err
	}
	c := newConversation(h, name, connector, records) // without its loop: this goroutine owns it
	if err := c.opening(ctx)(); err != nil {
		return 0, err
	}
	defer c.ends()
	in := importer{c: c, progress: progress}
	for m, err := range past {
		if err != nil {
			return in.imported, err
		}
		if err := in.add(ctx, m); err != nil {
			return in.imported, err
		}
	}
	if err := in.flush(ctx); err != nil {
		return in.imported, err
	}
	return in.imported, c.summarized(ctx)
}

// summarized waits, in place of the loop, until nothing is being summarized.
func (c *conversation) summarized(ctx context.Context) error {
	for c.engine.Busy() {
		select {
		case <-c.inbox.signal:
			c.inbox.run(func(event func()) { event() }) // a panic ends the import
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// ends ends what is being summarized.
func (c *conversation) ends() {
	c.engine.Close()
	_ = c.summarized(context.Background())
}

// importer gathers messages into batches that fit below the background level.
type importer struct {
	c        *conversation
	progress func(done int)
	batch    []Inbound
	tokens   int // of the batch
	done     int // messages read
	imported int // of them new
}

func (in *importer) add(ctx context.Context, m Inbound) error {
	window := in.c.window.look(ctx)
	tokens := min(compactor.TokensOf(chat.Message{
		Role: "user", Seq: in.c.engine.History().Next(), Author: m.Author, Text: m.Text, Attachments: m.Attachments, ReplyTo: m.ReplyTo, Quote: m.Quote, Time: m.Time,
	})+2, in.c.window.burst())
	gauge := in.c.engine.Reading()()
	room := int(gauge.Policy.BackgroundThreshold*float64(window)) - gauge.Used
	if len(in.batch) > 0 && (in.tokens+tokens > room || len(in.batch) >= importBatch) {
		if err := in.flush(ctx); err != nil {
			return err
		}
	}
	// A large message could jump over the background level and the aggressive one.
	if gauge = in.c.engine.Reading()(); float64(gauge.Used+tokens) >= gauge.Policy.EmergencyThreshold*float64(window) {
		in.c.engine.Compact(compactor.OnBackground, "", func(compactor.Event) {}, nil)
		if err := in.settle(ctx); err != nil {
			return err
		}
	}
	in.batch = append(in.batch, m)
	in.tokens += tokens
	in.done++
	return nil
}

// flush writes the batch and lets the compactor catch up.
func (in *importer) flush(ctx context.Context) error {
	added, err := in.c.records.Import(ctx, in.batch)
	if err != nil {
		return err
	}
	in.batch, in.tokens = in.batch[:0], 0
	in.imported += len(added)
	history := in.c.engine.History()
	history.Append(added...)
	history.Stored()
	in.progress(in.done)
	return in.settle(ctx)
}

// settle waits until nothing is due, also through the pauses after a failure: there
// is nobody here who must not wait, and truncating would lose sight of the past.
func (in *importer) settle(ctx context.Context) error {
	for {
		in.c.engine.Check(ctx)
		if err := in.c.summarized(ctx); err != nil {
			return err
		}
		if !in.c.engine.Reading()().BackingOff {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var _ compactor.Records = (*memory.Conversation)(nil)
