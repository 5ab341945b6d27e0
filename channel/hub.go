// Package channel runs the conversations: one goroutine owns each conversation, reads the
// delivered messages, calls the model, and sends the replies.
package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"cairn/channel/access"
	"cairn/channel/task"
	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/store"
)

// Options configures a hub.
type Options struct {
	Store      *store.Store
	Agent      func(conversation string) Agent // the agent that answers there
	Agents     func(id string) (Agent, bool)   // agents that "@id question" may call; nil: none
	Connectors []Connector
	Rules      access.Rules  // who may do what; Renew changes them
	CatchUp    time.Duration // after a start, unanswered messages younger than this are answered; 0: DefaultCatchUp
	Workers    int           // the most compactions that run at the same time; 0: DefaultWorkers
	Lease      *store.Lease  // of this process among those that run the bot; nil: there are no others
	Patience   time.Duration // before a platform that cannot be reached is left to other processes; 0: DefaultPatience
	Idle       time.Duration // an idle conversation leaves memory after this long; 0: DefaultIdle
	Log        *slog.Logger  // nil: slog.Default()

	Used []store.Usage // of models since access.MonthStart, before this hub started; budgets count it

	Hooks
	Observers []observe.Observer // of turns, requests, tools and compactions
}

// Hooks are functions that a hub calls; nil: it does not. Only Before may block.
type Hooks struct {
	Before     func(ctx context.Context, conversation string, p compactor.Proposal) (focus string, veto error) // see compactor.Options, like After
	After      func(conversation string, e Event)
	Remembered func(conversation string, id int64, kind, content string)         // for each new memory
	Waiting    func(conversation string)                                         // when a call starts or stops waiting for permission
	Replied    func(conversation string, to []string, text string, failure bool) // for each stored reply, to platform ids; failure: no word of the model
	Task       func(store.Task)                                                  // when a task begins, makes progress or ends
	Counted    func(store.Usage)                                                 // with what each model request used
}

// Defaults of the options.
const (
	DefaultCatchUp = time.Hour
	DefaultWorkers = 4
	DefaultIdle    = 10 * time.Minute
)

// Hub knows every conversation and wakes the one a message is for. It is safe for concurrent use.
type Hub struct {
	*environment
	registry // of conversations
	cancel   context.CancelFunc
}

// ErrClosed is returned when the hub is closing. Nothing was accepted.
var ErrClosed = errors.New("the bot is shutting down")

// New returns a hub. Close ends what it starts.
func New(o Options) *Hub {
	o.CatchUp = cmp.Or(o.CatchUp, DefaultCatchUp)
	o.Workers = cmp.Or(o.Workers, DefaultWorkers)
	o.Idle = cmp.Or(o.Idle, DefaultIdle)
	o.Patience = cmp.Or(o.Patience, DefaultPatience)
	o.Log = cmp.Or(o.Log, slog.Default())
	env := &environment{
		o: o, connectors: make(map[string]Connector), slots: make(chan struct{}, o.Workers),
		access: access.New(o.Rules, o.Used, o.Log), incident: newIncident(),
	}
	h := &Hub{environment: env, registry: registry{owners: &env.goroutines, open: make(map[string]*entry)}}
	for _, d := range o.Connectors {
		h.connectors[d.Name()] = d
	}
	h.tasks = &task.Service{Store: o.Store, Runtime: taskRuntime{h}, Access: h.access, Log: o.Log}
	h.connectors[store.TaskConnector] = taskConnector{service: h.tasks}
	h.life, h.cancel = context.WithCancel(observe.With(context.Background(), o.Observers...))
	if o.Store != nil {
		o.Store.Watch(h.changed)
	}
	h.registry.left = func(c *conversation) { h.fleet.left(c) }
	h.joinFleet(o.Lease)
	return h
}

// Renew replaces the rules, and makes every conversation adopt, before its next turn, what Options.Agent returns
// then; one whose summary is being written keeps its agent until that is applied.
func (h *Hub) Renew(rules access.Rules) {
	h.access.Renew(rules)
	for c := range h.all() {
		c.wake()
	}
}

// Deliver accepts a message: without an error it is on disk and may be acknowledged. It never waits for the
// conversation, and at most deliveryTimeout for the database. ErrRefused: the author is not heard there, and nothing was stored.
func (h *Hub) Deliver(ctx context.Context, name string, m Inbound) (receipt store.Receipt, err error) {
	receipts, err := h.take(ctx, name, []Inbound{m})
	if err != nil {
		return receipt, err
	}
	return receipts[0], nil
}

// DeliverAll accepts several messages in order, without those of people who are not heard there: all or, on error, none.
func (h *Hub) DeliverAll(ctx context.Context, name string, messages []Inbound) error {
	if _, err := h.take(ctx, name, messages); !errors.Is(err, ErrRefused) {
		return err
	}
	return nil
}

// take stores the messages that are heard; ErrRefused if none is.
func (h *Hub) take(ctx context.Context, name string, messages []Inbound) (receipts []store.Receipt, err error) {
	var heard []Inbound
	for _, m := range messages {
		if h.access.Rules().Hears(name, m.AuthorID, m.Bot) {
			heard = append(heard, m)
		} else {
			h.voice(name).refuse(m)
		}
	}
	if len(heard) == 0 {
		return nil, ErrRefused
	}
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	c, err := h.use(ctx, name)
	if err == nil {
		receipts, err = c.deliver(ctx, heard)
		h.release(c)
	}
	if errors.Is(err, store.ErrOwned) {
		return h.deliverToOwner(ctx, name, heard)
	}
	return receipts, err
}

// Recover takes up what an earlier process left, in conversations that match and whose connector is open, and in
// their tasks: messages in the inbox, unanswered turns, unsent replies, open tasks. Imports are read without their connector.
func (h *Hub) Recover(ctx context.Context, match func(conversation string) bool) error {
	if _, err := h.wakeUnfinished(ctx, match); err != nil {
		return err
	}
	return h.resumeErasures(ctx, match)
}

// wakeImporting opens the matching conversations that have messages of an import to read, also without their connector.
func (h *Hub) wakeImporting(ctx context.Context, match func(conversation string) bool) error {
	names, err := h.o.Store.Importing(ctx)
	for _, name := range slices.DeleteFunc(names, func(name string) bool { return !match(name) }) {
		records, err := h.o.Store.Find(ctx, name)
		if err != nil {
			return err
		}
		c, err := h.enter(ctx, name, h.connectors[connectorOf(name)], records)
		if errors.Is(err, store.ErrOwned) {
			continue
		}
		if err != nil {
			return err
		}
		c.wake()
		h.release(c)
	}
	return err
}

// wakeUnfinished wakes the matching conversations that have something left to do, and returns their names.
func (h *Hub) wakeUnfinished(ctx context.Context, match func(conversation string) bool) ([]string, error) {
	names, err := h.o.Store.Unfinished(ctx)
	tasks, failed := h.o.Store.OpenTasks(ctx)
	err = errors.Join(err, failed, h.wakeImporting(ctx, match))
	if err != nil {
		return nil, fmt.Errorf("look for unfinished conversations: %w", err)
	}
	for _, t := range tasks {
		names = append(names, t.Conversation)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		root, _ := store.RootOf(name)
		_, known := h.connectors[connectorOf(root)]
		return !known || !match(root)
	})
	for _, name := range names {
		if err := h.wakeOwn(ctx, name); err != nil && !errors.Is(err, store.ErrOwned) {
			return nil, err
		}
	}
	return names, nil
}

// Idle returns once everything delivered to the conversation so far is answered, and its replies are sent.
func (h *Hub) Idle(ctx context.Context, name string) error {
	c, err := h.use(ctx, name)
	if err != nil {
		return err
	}
	defer h.release(c)
	return h.whileStored(ctx, func(ctx context.Context) error { return c.until(ctx, c.workDone) })
}

// Drain returns once turns, replies and workers have ended. Open tasks continue at the next start.
func (h *Hub) Drain(ctx context.Context) error {
	return h.whileStored(ctx, func(ctx context.Context) error { return h.waitAll(ctx, true) })
}

// waitAll waits for turns and replies, and for the workers if wanted.
func (h *Hub) waitAll(ctx context.Context, workers bool) error {
	for c := range h.all() {
		if c.task != nil {
			if t, err := c.records.Tasks().Self(ctx); err != nil || t.State == store.TaskOpen {
				continue
			}
		}
		err := c.until(ctx, func() (bool, error) {
			if !workers {
				return c.maySettle()
			}
			idle, err := c.workDone()
			if idle && err == nil && c.engine != nil {
				c.engine.Drain()
			}
			return idle && !c.runs.busy(), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// whileStored waits by wait; when the database is gone it ends that and returns why. Work that cannot be stored is retried for ever.
func (h *Hub) whileStored(ctx context.Context, wait func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	lost := make(chan error)
	go func() {
		why := untilLost(ctx, h.o.Store)
		cancel()
		lost <- why
	}()
	err := wait(ctx)
	cancel()
	return cmp.Or(<-lost, err)
}

// untilLost returns why the database is gone; nil: it was in place when ctx ended.
func untilLost(ctx context.Context, s *store.Store) error {
	for ctx.Err() == nil {
		err := s.Upkeep().InPlace()
		if errors.Is(err, store.ErrReplaced) || errors.Is(err, store.ErrDamaged) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(storedCheck):
		}
	}
	return nil
}

// storedCheck is how often waiting checks that the database is in place.
const storedCheck = time.Second

// Close cancels what still runs and waits for it. The next start resumes a turn that was cut short.
func (h *Hub) Close() error {
	h.goroutines.close()
	h.cancel()
	h.goroutines.running.Wait()
	if h.o.Lease == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewEvery)
	defer cancel()
	if err := h.o.Lease.End(ctx); err != nil {
		h.o.Log.Warn("end_lease_failed", "effect", "others wait until it is over", "error", err)
	}
	return nil
}
