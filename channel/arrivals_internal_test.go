package channel

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// acceptedLog is a connector that records the messages whose arrival is reported.
type acceptedLog struct {
	Observer
	reports []string
}

func (p *acceptedLog) Accepted(_, id string, seq int64) {
	p.reports = append(p.reports, fmt.Sprint(id, "=", seq))
}

// A message may be dequeued before its arrival is handled, and arrive again: each delivery gets a report, the seq last.
func TestEveryDeliveryIsReported(t *testing.T) {
	messages := []Inbound{{ID: "m"}}
	arrives := func(r store.Receipt) func(a *arrivals) {
		return func(a *arrivals) { a.arrived(messages, []store.Receipt{r}) }
	}
	coming := func(a *arrivals) { a.coming(messages) }
	waits := arrives(store.Receipt{Fresh: true})
	again := arrives(store.Receipt{})
	known := arrives(store.Receipt{Seq: 7})
	dequeued := func(a *arrivals) { a.accepted("m", 7) }
	lost := func(a *arrivals) { a.lost(messages) }
	for name, c := range map[string]struct {
		events []func(*arrivals)
		want   []string
		open   int // messages whose seq is still to be reported
	}{
		"dequeued first":                        {[]func(*arrivals){coming, dequeued, waits}, []string{"m=7"}, 0},
		"arrived first":                         {[]func(*arrivals){coming, waits, dequeued}, []string{"m=7"}, 0},
		"it waits":                              {[]func(*arrivals){coming, waits}, []string{"m=0"}, 1},
		"it was not kept":                       {[]func(*arrivals){coming, lost}, nil, 0},
		"it is repeated while it waits":         {[]func(*arrivals){coming, waits, coming, again, dequeued}, []string{"m=0", "m=7"}, 0},
		"it is repeated after it was dequeued":  {[]func(*arrivals){coming, dequeued, waits, coming, known}, []string{"m=7", "m=7"}, 0},
		"it is repeated as it is dequeued":      {[]func(*arrivals){coming, waits, coming, known, dequeued}, []string{"m=7", "m=7"}, 0},
		"it was left by a process that stopped": {[]func(*arrivals){dequeued}, []string{"m=7"}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			log := &acceptedLog{}
			var events []func()
			a := newArrivals("terminal:test", log, func(event func()) { events = append(events, event) })
			for _, event := range c.events {
				event(&a)
			}
			time.Sleep(2 * ackDelay)
			synctest.Wait()
			for _, event := range events {
				event()
			}
			check.EqualAll(t, name+": reports to the connector", log.reports, c.want)
			check.Equal(t, name+": messages without a seq", len(a.incoming), c.open)
		})
	}
}

// A message may be edited or deleted after it was dequeued, and before the loop shows it.
func TestChangeBeforeMessageIsShown(t *testing.T) {
	for want, change := range map[string]func(*conversation){
		"hello":            func(c *conversation) { storetest.Remove(t, c.records, 2) },
		"the code is 0000": func(c *conversation) { storetest.Edit(t, c.records, 2, "the code is 0000") },
	} {
		records := storetest.NewConversation(t)
		storetest.Deliver(t, records, storetest.Said(1, "hello"))
		conv := newConversation(&environment{life: t.Context(), o: Options{Log: slog.New(slog.DiscardHandler)}}, records.Name(), nil, records)
		conv.engine = check.Must(compactor.Open(t.Context(), compactor.Options{
			Records: memory.Of(records).Records(), Policy: compactor.DefaultPolicy, Window: func() int { return 8_000 },
		}))(t)
		dequeued := storetest.Deliver(t, records, storetest.Said(2, "the code is 4711"))
		change(conv)
		conv.changed()
		conv.engine.Received(dequeued...)
		prompt := fmt.Sprintf("%+v", check.Must(conv.engine.Request(t.Context()))(t).Messages)
		check.Lacks(t, "prompt", prompt, "4711")
		check.Contains(t, "prompt", prompt, "hello", want)
	}
}
