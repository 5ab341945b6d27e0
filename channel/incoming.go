package channel

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"cairn/compactor"
	"cairn/store"
)

// deliver puts messages into the inbox.
func (c *conversation) deliver(ctx context.Context, messages []Inbound) ([]store.Receipt, error) {
	return c.deliverBy(messages, func() ([]store.Receipt, error) { return c.records.Inbox().Deliver(ctx, messages...) })
}

// deliverBy has a function store messages, and the loop look for them.
func (c *conversation) deliverBy(messages []Inbound, write func() ([]store.Receipt, error)) ([]store.Receipt, error) {
	for i := range messages {
		classify(c.access.Rules(), c.name, &messages[i])
	}
	c.inbox.post(func() { c.arrivals.coming(messages) })
	receipts, err := write()
	if refusesBot(messages, receipts) && c.access.First("logged bots in "+c.name, time.Hour) {
		c.log.Warn("bot_turns_reached", "effect", "messages of other bots get no answer until a person writes", "limit", store.MaxBotTurns)
	}
	c.inbox.post(func() {
		if err != nil {
			c.arrivals.lost(messages)
			return
		}
		c.runs.again = true
		c.arrivals.arrived(messages, receipts)
	})
	return receipts, err
}

// refusesBot reports whether a bot's message is only overheard because too many were answered.
func refusesBot(messages []Inbound, receipts []store.Receipt) bool {
	for i, receipt := range receipts {
		if messages[i].Bot && messages[i].Addressed && receipt.Fresh && !receipt.Addressed {
			return true
		}
	}
	return false
}

// ackDelay is how long a message may wait to be taken up before the connector hears that it is on disk.
const ackDelay = time.Second

// arrivals is what the loop of a conversation knows about incoming messages. Only the loop calls its methods.
type arrivals struct {
	conversation string
	observer     Observer           // nil: the connector does not follow its messages
	post         func(event func()) // has the loop run an event later

	incoming map[string]compactor.Patch // the settings that came with messages without a place, by id
	awaited  string                     // the newest message that waits for an answer; "": none
	due      chan struct{}              // closed while a message waits for an answer, see Awaited
	newest   string                     // the newest message with a place that the platform knows; "": none since the conversation was opened
}

func newArrivals(conversation string, observer Observer, post func(event func())) arrivals {
	return arrivals{
		conversation: conversation, observer: observer, post: post,
		incoming: make(map[string]compactor.Patch), due: make(chan struct{}),
	}
}

// coming notes messages before they are stored: the child may take them up before the loop hears of them.
func (a *arrivals) coming(messages []Inbound) {
	for _, m := range messages {
		if a.observer != nil || len(m.Compaction) > 0 {
			a.incoming[m.ID] = m.Compaction
		}
	}
}

// lost forgets messages that could not be stored.
func (a *arrivals) lost(messages []Inbound) {
	for _, m := range messages {
		delete(a.incoming, m.ID)
	}
}

// arrived handles messages that are on disk. The connector is notified of their place or, if they
// wait behind a long turn or were delivered again, first that they are on disk.
func (a *arrivals) arrived(messages []Inbound, receipts []store.Receipt) {
	for i, m := range messages {
		if receipts[i].Seq > 0 {
			delete(a.incoming, m.ID)
		}
	}
	for i, m := range messages {
		if receipts[i].Addressed {
			a.awaited = m.ID
			a.setDue()
		}
		if a.observer != nil {
			a.acknowledge(m.ID, receipts[i])
		}
	}
}

// acknowledge notifies the connector of a message that is on disk.
func (a *arrivals) acknowledge(id string, receipt store.Receipt) {
	switch {
	case receipt.Fresh && !a.waits(id): // it was taken up in the meantime
	case receipt.Fresh:
		time.AfterFunc(ackDelay, func() {
			a.post(func() {
				if a.waits(id) {
					a.observer.Accepted(a.conversation, id, 0)
				}
			})
		})
	default:
		a.observer.Accepted(a.conversation, id, receipt.Seq)
	}
}

// waits reports whether a message has no place yet.
func (a *arrivals) waits(id string) bool {
	_, waits := a.incoming[id]
	return waits
}

// accepted notifies the connector of a message's place, and returns the settings that came with it.
func (a *arrivals) accepted(id string, seq int64) (settings compactor.Patch) {
	settings = a.incoming[id]
	delete(a.incoming, id)
	if a.observer != nil {
		a.observer.Accepted(a.conversation, id, seq)
	}
	return settings
}

// setDue closes due.
func (a *arrivals) setDue() {
	select {
	case <-a.due:
	default:
		close(a.due)
	}
}

// answered records that the message awaited, and all before it, need not wait any more.
func (a *arrivals) answered(awaited string) {
	if a.awaited == awaited {
		a.awaited = ""
		a.due = make(chan struct{})
	}
}

type awaitedKey struct{}

// callConnector calls a function of the connector that asks the platform.
func callConnector(ctx context.Context, limit time.Duration, f func(context.Context) error) (err error) {
	defer recoverConnector(&err)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

// recoverConnector converts a panic of the connector into an error.
func recoverConnector(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the connector panicked: %v\n%s", p, debug.Stack())
	}
}
