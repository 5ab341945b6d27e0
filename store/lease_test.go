package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
	"cairn/testkit/storetest"
)

// process is a process that runs the bot in a test.
type process struct {
	*store.Store
	*store.Lease
	t    *testing.T
	lost []string // see store.Lost
}

// fleet returns processes that run the bot on one database.
func fleet(t *testing.T, size int) (all []*process, database string) {
	t.Helper()
	c := pgtest.Shared(t)
	database = storetest.NewDatabase(t)
	for range size {
		all = append(all, join(t, c.Address(database)))
	}
	return all, database
}

func join(t *testing.T, address string) *process {
	t.Helper()
	p := &process{Store: check.Must(onServer(address))(t), t: t}
	t.Cleanup(func() { check.NoError(t, p.Close()) })
	p.Store.Processes().Lost(func(conversation string, _ int64) { p.lost = append(p.lost, conversation) })
	p.Lease = check.Must(p.Store.Processes().Join(ctx, store.Process{
		Name: fmt.Sprint("host:", time.Now().UnixNano()), Connectors: []store.Account{{Connector: "discord", Shards: 1}},
	}, time.Hour))(t)
	return p
}

// claim makes a process the owner of a conversation.
func (p *process) claim(name string) *store.Conversation {
	p.t.Helper()
	return check.Must(p.Claim(ctx, check.Must(p.Conversation(ctx, name))(p.t)))(p.t)
}

// dies lets the lease of a process run out.
func (p *process) dies() {
	p.t.Helper()
	storetest.Run(p.t, p.Store, "UPDATE processes SET lease_until = 0 WHERE id = $1", p.ID())
}

// endsOthers has a process renew its lease, and end those that have not.
func (p *process) endsOthers(want int) {
	p.t.Helper()
	check.Len(p.t, "ended processes", check.Must(p.Renew(ctx))(p.t), want)
}

// whatOwnersWrite is what the owner of a conversation writes, in all the ways that the loop and its children have.
var whatOwnersWrite = map[string]func(c *store.Conversation) error{
	"deliver": func(c *store.Conversation) error { return check.ErrorOf(c.Inbox().Deliver(ctx, asking(2, "more"))) },
	"dequeue": func(c *store.Conversation) error {
		return check.ErrorOf(c.Inbox().Dequeue(ctx, store.All, 1000, time.Time{}))
	},
	"retry": func(c *store.Conversation) error { return check.ErrorOf(c.Turns().Retry(ctx, 1)) },
	"finish": func(c *store.Conversation) error {
		return check.ErrorOf(c.Turns().Finish(ctx, store.Outcome{Turn: 1, Reply: "r", To: []string{"1"}, Pieces: []string{"late"}}))
	},
	"post": func(c *store.Conversation) error {
		return c.Outbox().Post(ctx, store.Outcome{Reply: "n", Pieces: []string{"late"}})
	},
	"send":   func(c *store.Conversation) error { return c.Outbox().Sending(ctx, 1) },
	"sent":   func(c *store.Conversation) error { return c.Outbox().Sent(ctx, 1, "9") },
	"edit":   func(c *store.Conversation) error { return check.ErrorOf(tryEdit(c)) },
	"delete": func(c *store.Conversation) error { return privacy.Of(c).Delete(ctx, []string{"1"}) },
	"purge":  func(c *store.Conversation) error { return privacy.Of(c).Purge(ctx) },
	"pin":    func(c *store.Conversation) error { return check.ErrorOf(c.Transcript().Pin(ctx, 1, store.Person{})) },
	"new session": func(c *store.Conversation) error {
		_, _, err := c.Sessions().Request(ctx, time.Now())
		return err
	},
	"close a gap": func(c *store.Conversation) error { return c.Past().CloseGap(ctx, "1") },
	"follow":      func(c *store.Conversation) error { return c.Settings().Follow(ctx, true) },
	"choose":      func(c *store.Conversation) error { return c.Settings().SetModel(ctx, "large", store.Person{}) },
	"load":        func(c *store.Conversation) error { return check.ErrorOf(c.Compactions().Load(ctx)) },
	"remember": func(c *store.Conversation) error {
		draft := summarize.MemoryDraft{Content: "Ann likes tea", Kind: "preference"}
		return check.ErrorOf(memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: draft, Person: "Ann"}))
	},
	"refuse": func(c *store.Conversation) error { return check.ErrorOf(c.Outbox().Refused(ctx, 1)) },
}

func tryEdit(c *store.Conversation) (int64, error) {
	seq, _, err := privacy.Of(c).Edit(ctx, said(1, "late"))
	return seq, err
}

func TestFormerOwnerWritesNothing(t *testing.T) {
	all, _ := fleet(t, 2)
	former, next := all[0], all[1]
	c := former.claim("terminal:general")
	deliver(t, c, asking(1, "hello"))
	check.NoError(t, c.Outbox().Post(ctx, store.Outcome{Reply: "p", Pieces: []string{"hi"}}))
	former.dies()
	next.endsOthers(1)
	owned := next.claim("terminal:general")
	before := dump(t, next.Store)
	for what, write := range whatOwnersWrite {
		former.lost = nil
		check.Error(t, write(c), store.ErrOwned)
		check.EqualAll(t, what+": lost", former.lost, []string{"terminal:general"})
	}
	check.Equal(t, "the database", dump(t, next.Store), before)
	for what, write := range whatOwnersWrite {
		check.That(t, !errors.Is(write(owned), store.ErrOwned), "%s is refused to the owner", what)
	}
}

// In a bubble the clock of the processes is years behind that of the database.
func TestLeasesGoByTheClockOfTheDatabase(t *testing.T) {
	pgtest.Shared(t)
	synctest.Test(t, func(t *testing.T) {
		all, _ := fleet(t, 2)
		former, next := all[0], all[1]
		c := former.claim("terminal:general")
		next.endsOthers(0)
		check.Error(t, check.ErrorOf(next.Claim(ctx, find(t, next.Store, "terminal:general"))), store.ErrOwned)
		for _, p := range next.All() {
			check.That(t, p.Left > 59*time.Minute && p.Left <= time.Hour, "a lease lasts %v more", p.Left)
		}
		former.dies()
		next.endsOthers(1)
		deliver(t, next.claim("terminal:general"), asking(1, "hello"))
		check.Error(t, whatOwnersWrite["dequeue"](c), store.ErrOwned)
		check.Error(t, check.ErrorOf(former.Renew(ctx)), store.ErrEnded)
	})
}

func TestClaimWaitsForTheEndOfTheOwner(t *testing.T) {
	all, _ := fleet(t, 3)
	all[0].claim("terminal:general")
	refused := func(p *process) {
		t.Helper()
		check.Error(t, check.ErrorOf(p.Claim(ctx, find(t, p.Store, "terminal:general"))), store.ErrOwned)
	}
	refused(all[1])
	all[0].dies()
	refused(all[1]) // nobody has ended it
	all[1].endsOthers(1)
	check.Error(t, check.ErrorOf(all[0].Renew(ctx)), store.ErrEnded)
	all[0].Forget("terminal:general", 1)
	refused(all[0])
	var wait sync.WaitGroup
	errs := make([]error, 2)
	for i, p := range all[1:] {
		wait.Go(func() { _, errs[i] = p.Claim(ctx, find(t, p.Store, "terminal:general")) })
	}
	wait.Wait()
	slices.SortFunc(errs, func(a, b error) int { return len(fmt.Sprint(b)) - len(fmt.Sprint(a)) })
	check.Error(t, errs[0], store.ErrOwned)
	check.NoError(t, errs[1])
	check.Equal(t, "the epoch", number(t, all[1].Store, "SELECT epoch FROM cairn.conversations"), 2)
}

// Each process stores what it has received, whenever it can.
func TestClaimPutsWhatWaitsInOrder(t *testing.T) {
	all, _ := fleet(t, 3)
	for i, n := range []int{3, 1, 2} {
		deliverOnly(t, find(t, all[i%2].Store, "terminal:general"), asking(n, "hello"))
	}
	check.EqualAll(t, "what waits", waiting(t, all[2].claim("terminal:general")), []string{"m1", "m2", "m3"})
}

// waiting returns the IDs of the messages that wait, in order.
func waiting(t *testing.T, c *store.Conversation) (ids []string) {
	t.Helper()
	for _, m := range check.Must(c.Inbox().Oldest(ctx, 10))(t) {
		ids = append(ids, m.ID)
	}
	return ids
}

func TestTasksBelongToTheirConversation(t *testing.T) {
	all, _ := fleet(t, 2)
	c := all[0].claim("terminal:general")
	deliver(t, c, asking(1, "count"))
	task := check.Must(c.Tasks().Begin(ctx, store.NewTask{Task: store.Task{Agent: "one", Text: "count", Began: 1}, Message: "count", Turn: 1, Max: 4, Chain: 8}))(t)
	mine := all[0].claim(task.Conversation)
	check.Must(mine.Inbox().Dequeue(ctx, store.All, 1000, time.Time{}))(t)
	check.Error(t, check.ErrorOf(all[1].Claim(ctx, find(t, all[1].Store, task.Conversation))), store.ErrOwned)
	deliverOnly(t, find(t, all[1].Store, task.Conversation), asking(9, "go on"))
	events, _, err := all[0].Events(ctx)
	check.NoError(t, err)
	check.EqualAll(t, "events", events, []store.Event{{Conversation: task.Conversation}})
	check.NoError(t, all[0].WakeTasks(ctx))
	check.NoError(t, all[1].WakeTasks(ctx))
	events, _, err = all[0].Events(ctx)
	check.NoError(t, err)
	check.EqualAll(t, "events after a pause", events, []store.Event{{Conversation: task.Conversation}})
	all[0].dies()
	all[1].endsOthers(1)
	check.EqualAll(t, "orphans", check.Must(all[1].Orphans(ctx))(t), []string{"terminal:general", task.Conversation})
	deliverOnly(t, find(t, all[1].Store, "terminal:general"), asking(8, "more"), asking(7, "more"))
	next := all[1].claim(task.Conversation)
	check.EqualAll(t, "what people wrote above the task", waiting(t, find(t, all[1].Store, "terminal:general")), []string{"m7", "m8"})
	check.Error(t, check.ErrorOf(mine.Inbox().Deliver(ctx, asking(3, "late"))), store.ErrOwned)
	check.Error(t, check.ErrorOf(c.Inbox().Deliver(ctx, asking(3, "late"))), store.ErrOwned)
	check.Must(next.Tasks().End(ctx, store.TaskDone, "one", "42"))(t)
	check.Must(all[1].claim("terminal:general").Inbox().Dequeue(ctx, store.All, 1000, time.Time{}))(t)
}

func TestOtherBotsAreRefused(t *testing.T) {
	c := pgtest.Shared(t)
	address := c.Address(storetest.NewDatabase(t))
	open := func(lasts time.Duration, accounts ...store.Account) (*store.Lease, error) {
		s := check.Must(onServer(address))(t)
		t.Cleanup(func() { s.Close() })
		return s.Processes().Join(ctx, store.Process{Name: "host:1", Connectors: accounts}, lasts)
	}
	alone := store.Account{Connector: "terminal", Alone: true}
	on := func(connector, account string) store.Account { return store.Account{Connector: connector, ID: account} }
	first := check.Must(open(time.Second, on("discord", "77"), alone))(t)
	check.Must(open(time.Hour, on("discord", "77"), on("slack", "A1")))(t)
	check.Must(open(time.Hour, on("discord", "")))(t)
	renew := time.AfterFunc(300*time.Millisecond, func() { check.Must(first.Renew(ctx))(t) })
	defer renew.Stop()
	err := check.ErrorOf(open(time.Second, on("discord", "78")))
	check.Error(t, err, store.ErrInUse)
	check.Contains(t, "the error", err.Error(), "another bot, 77 on discord and not 78", "host:1", "name another schema")
	// A process that was killed has not left: the next one on its terminal waits for the end of its lease.
	check.Must(open(time.Second, alone))(t)
}

func TestProcessesHearOfEachOther(t *testing.T) {
	all, _ := fleet(t, 2)
	all[0].claim("terminal:general")
	listening, stop := context.WithCancel(ctx)
	heard := make(chan bool, 9)
	ended := make(chan error, 1)
	go func() { ended <- all[0].Listen(listening, func(bool) { heard <- true }) }()
	<-heard // it listens
	deliverOnly(t, find(t, all[1].Store, "terminal:general"), asking(1, "hello"))
	<-heard
	stop()
	check.That(t, <-ended != nil, "listening ends without a reason")
}

// What the server refuses with the COMMIT was not written: the owner knows that.
func TestRefusedCommitIsNoLoss(t *testing.T) {
	all, _ := fleet(t, 1)
	c := all[0].claim("terminal:general")
	err := c.Outbox().Sending(ctx, 99)
	check.Error(t, err, store.ErrNotFound)
	check.That(t, !errors.Is(err, store.ErrUnknown), "a refused commit counts as unknown: %v", err)
	check.Len(t, "lost conversations", all[0].lost, 0)
}

// If the answer to a COMMIT is lost, the owner must find out what happened, by opening the conversation again.
func TestLostAnswerToACommit(t *testing.T) {
	network := pgtest.NewProxy(t, pgtest.Shared(t))
	p := join(t, network.Address(storetest.NewDatabase(t)))
	talk := p.claim("terminal:general")
	follows := func(c *store.Conversation) bool { return check.Must(c.Settings().Following(ctx))(t) }
	check.NoError(t, talk.Settings().Follow(ctx, false))
	network.Mute()
	check.Error(t, talk.Settings().Follow(ctx, true), store.ErrUnknown)
	check.EqualAll(t, "lost", p.lost, []string{"terminal:general"})
	p.Forget("terminal:general", talk.Epoch())
	network.Connect()
	again := p.claim("terminal:general")
	check.Equal(t, "what the lost commit wrote", follows(again), true)
	check.Error(t, talk.Settings().Follow(ctx, false), store.ErrOwned)
}
