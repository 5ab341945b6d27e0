package channel

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
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

// canceled is a writer that counts how often it is canceled.
type canceled int

func (*canceled) Show(string)                                 {}
func (n *canceled) Cancel()                                   { *n++ }
func (*canceled) Send(context.Context, Piece) (string, error) { return "", nil }

func TestPanicOfTheLoopIsNotTheTurns(t *testing.T) {
	run := func(p any, w Writer) (again any, err error) {
		defer func() { again = recover() }()
		failing := &turn{voice: &voice{site: site{log: slog.New(slog.DiscardHandler)}}, attempt: &attempt{writer: w}}
		defer failing.recoverPanic(&err)
		panic(p)
	}
	w := new(canceled)
	again, err := run(errPanicked, w)
	check.That(t, again == any(errPanicked) && *w == 1, "a panic of the loop: %v, %v, the text shown is withdrawn %d times", err, again, *w)
	again, err = run("a bug of a tool", w)
	check.That(t, err != nil && again == nil, "a panic of the turn: %v, %v", err, again)
}

func TestTruncatedArgumentsMaskSecret(t *testing.T) {
	const part = "aB3dE5gH7jK9"
	for n := 130; n < 136; n++ { // wherever the cut is
		text := strings.Repeat("word ", n) + "sk-proj-" + strings.Repeat(part, 4) + strings.Repeat(" word", 600)
		shown := shownArguments(json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)))
		check.Lacks(t, fmt.Sprintf("%d words before it", n), shown, part)
	}
}
