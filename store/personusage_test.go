package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/llm/prices"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func TestPeopleShareWhatTheyAskFor(t *testing.T) {
	c := newTalk(t)
	s := c.Store()
	const day, next = "2026-03-28", "2026-03-29"
	add := func(day, model string, input int64, by ...string) {
		t.Helper()
		u := usageRow(day, store.ForTurn, model, 1)
		u.Tokens = prices.Tokens{Input: input, Cached: 3, Written: 2, Output: 1}
		u.By = by
		check.NoError(t, c.Turns().AddUsage(ctx, []store.Usage{u}))
	}
	spent := func(when, day, want string, people ...string) {
		t.Helper()
		var all []string
		used := check.Must(store.LimitsOf(s).SpentBy(ctx, day, people))(t)
		for _, id := range people {
			for _, u := range used[id] {
				all = append(all, fmt.Sprint(id, " ", u.Day, " ", u.Model, " ", u.Input, " ", u.Cached, " ", u.Written, " ", u.Output))
			}
		}
		check.Equal(t, when, strings.Join(all, ", "), want)
	}
	add(day, "m", 5, "bob", "ann")
	add(day, "m", 10, "ann")
	add(day, "n", 7, "ann")
	add(day, "m", 100)
	add(next, "m", 1, "ann")
	spent("in equal parts", day, "ann 2026-03-28 m 13 5 3 2, ann 2026-03-28 n 7 3 2 1, bob 2026-03-28 m 2 1 1 0", "ann", "bob", "eve")
	tell := func(want bool, day, who string) {
		t.Helper()
		check.Equal(t, "it is new to "+who, check.Must(store.LimitsOf(s).Tell(ctx, day, who))(t), want)
	}
	tell(true, day, "ann")
	tell(false, day, "ann")
	add(day, "other", 1, "ann")
	tell(false, day, "ann")
	tell(true, day, "bob")
	tell(true, next, "ann")
	tell(false, day, "eve")
	check.NoError(t, s.Upkeep().Run(ctx, store.Backups{}, time.Date(2026, 3, 29, 0, 1, 0, 0, time.Local)))
	spent("after the day", day, "", "ann", "bob")
	spent("today", next, "ann 2026-03-29 m 1 3 2 1", "ann")
	check.EqualAll(t, "people of whom something is known", storetest.Rows(t, s, "SELECT DISTINCT author_id FROM person_usage"), []string{"ann"})
}

// Several processes tell a person once.
func TestPersonIsToldOnce(t *testing.T) {
	all, _ := fleet(t, 2)
	u := usageRow("2026-03-28", store.ForTurn, "m", 1)
	u.By = []string{"ann"}
	check.NoError(t, all[0].claim("terminal:general").Turns().AddUsage(ctx, []store.Usage{u}))
	told := make(chan bool)
	for n := range 8 {
		go func() {
			first, err := store.LimitsOf(all[n%2].Store).Tell(ctx, u.Day, "ann")
			told <- first && err == nil
		}()
	}
	times := 0
	for range 8 {
		if <-told {
			times++
		}
	}
	check.Equal(t, "times", times, 1)
}

// Who asked for a task pays for it, and for the answer that its result demands, however deep it is.
func TestAskersOfTasks(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	c := find(t, s, "test:a")
	askers := func(what string, c *store.Conversation, turn int64, want ...string) {
		t.Helper()
		check.EqualAll(t, what, check.Must(c.Turns().Askers(ctx, turn))(t), want)
	}
	begin := func(c *store.Conversation, turn int64, author string) *store.Conversation {
		t.Helper()
		n := store.NewTask{Task: store.Task{Agent: "one", Text: "count", Author: author}, Message: "count", Turn: turn, Max: 9, Chain: 9}
		return find(t, s, check.Must(c.Tasks().Begin(ctx, n))(t).Conversation)
	}
	take := func(c *store.Conversation, in ...store.Inbound) int64 {
		t.Helper()
		return deliver(t, c, in...)[0].Turn
	}
	by := func(n int, author string) store.Inbound {
		in := said(n, "count")
		in.AuthorID = author
		in.Addressed = true
		return in
	}
	turn := take(c, by(1, "ann"), by(2, "bob"), by(3, "ann"))
	askers("of a turn", c, turn, "ann", "bob")
	askers("of no turn", c, 99)
	byModel := begin(c, turn, "")
	askers("of a task that the model began, for the newest message", byModel, take(byModel), "ann")
	below := begin(byModel, 1, "")
	askers("of a task below it", below, take(below), "ann")
	byPerson := begin(c, 0, "eve")
	askers("of a task of a command", byPerson, take(byPerson), "eve")
	check.Must(c.Turns().Finish(ctx, store.Outcome{Turn: turn}))(t)
	check.Must(byPerson.Tasks().End(ctx, store.TaskDone, "one", "2"))(t)
	askers("of the answer to its result", c, take(c), "eve")
}
