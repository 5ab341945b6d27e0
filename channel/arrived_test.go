package channel

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
)

// acceptedLog is a connector that records the messages whose arrival is reported.
type acceptedLog struct {
	Connector
	Observer
	reports []string
}

func (p *acceptedLog) Accepted(_, id string, seq int64) {
	p.reports = append(p.reports, fmt.Sprint(id, "=", seq))
}

// A message may be dequeued before the loop handles its arrival: the report with its seq comes
// last. It may also arrive again: each delivery gets a report.
func TestEveryDeliveryIsReported(t *testing.T) {
	messages := []Inbound{{ID: "m"}}
	arrives := func(r store.Receipt) func(c *conversation) {
		return func(c *conversation) { c.arrived(messages, []store.Receipt{r}) }
	}
	coming := func(c *conversation) { c.coming(messages) }
	waits, again, known := arrives(store.Receipt{Fresh: true}), arrives(store.Receipt{}), arrives(store.Receipt{Seq: 7})
	dequeued := func(c *conversation) { c.accepted("m", 7) }
	lost := func(c *conversation) { c.notStored(messages) }
	for name, c := range map[string]struct {
		events []func(*conversation)
		want   []string
		open   int // messages whose seq is still to be reported
	}{
		"dequeued first":                        {[]func(*conversation){coming, dequeued, waits}, []string{"m=7"}, 0},
		"arrived first":                         {[]func(*conversation){coming, waits, dequeued}, []string{"m=7"}, 0},
		"it waits":                              {[]func(*conversation){coming, waits}, []string{"m=0"}, 1},
		"it was not kept":                       {[]func(*conversation){coming, lost}, nil, 0},
		"it is repeated while it waits":         {[]func(*conversation){coming, waits, coming, again, dequeued}, []string{"m=0", "m=7"}, 0},
		"it is repeated after it was dequeued":  {[]func(*conversation){coming, dequeued, waits, coming, known}, []string{"m=7", "m=7"}, 0},
		"it is repeated as it is dequeued":      {[]func(*conversation){coming, waits, coming, known, dequeued}, []string{"m=7", "m=7"}, 0},
		"it was left by a process that stopped": {[]func(*conversation){dequeued}, []string{"m=7"}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			log := &acceptedLog{}
			conv := newConversation(&Hub{o: Options{Log: slog.New(slog.DiscardHandler)}}, "terminal:test", log, nil)
			for _, event := range c.events {
				event(conv)
			}
			time.Sleep(2 * ackDelay)
			synctest.Wait()
			for _, f := range conv.inbox.events {
				f()
			}
			check.EqualAll(t, name+": reports to the connector", log.reports, c.want)
			check.Equal(t, name+": messages without a seq", len(conv.arrivals.incoming), c.open)
		})
	}
}

// A message may be edited or deleted after it was dequeued, and before the loop shows it.
func TestChangeBeforeMessageIsShown(t *testing.T) {
	for want, change := range map[string]func(*conversation){
		"hello":            func(c *conversation) { c.deleted(storetest.Remove(t, c.records, 2)) },
		"the code is 0000": func(c *conversation) { c.changed(storetest.Edit(t, c.records, 2, "the code is 0000")) },
	} {
		records := storetest.NewConversation(t)
		storetest.Deliver(t, records, storetest.Said(1, "hello"))
		conv := newConversation(&Hub{ctx: t.Context(), o: Options{Log: slog.New(slog.DiscardHandler)}}, records.Name(), nil, records)
		conv.engine = check.Must(compactor.Open(t.Context(), compactor.Options{
			Records: memory.Of(records).Records(), Policy: compactor.DefaultPolicy, Window: func() int { return 8_000 }, Start: conv.start,
		}))(t)
		dequeued := storetest.Deliver(t, records, storetest.Said(2, "the code is 4711"))
		change(conv)
		conv.append(dequeued)
		prompt := fmt.Sprintf("%+v", check.Must(conv.engine.Request(t.Context()))(t).Messages)
		check.Lacks(t, "prompt", prompt, "4711")
		check.Contains(t, "prompt", prompt, "hello", want)
	}
}

// canceled is a writer that counts how often it is canceled.
type canceled int

func (*canceled) Show(string)                                 {}
func (n *canceled) Cancel()                                   { *n++ }
func (*canceled) Send(context.Context, Piece) (string, error) { return "", nil }

func TestPanicOfTheLoopIsNotTheTurns(t *testing.T) {
	run := func(p any, w Writer) (again any, err error) {
		defer func() { again = recover() }()
		defer (&conversation{log: slog.New(slog.DiscardHandler)}).recoverTurn(&reply{writer: w}, &err)
		panic(p)
	}
	w := new(canceled)
	again, err := run(errPanicked, w)
	check.That(t, again == any(errPanicked) && *w == 1, "a panic of the loop: %v, %v, the text shown is withdrawn %d times", err, again, *w)
	again, err = run("a bug of a tool", w)
	check.That(t, err != nil && again == nil, "a panic of the turn: %v, %v", err, again)
}
