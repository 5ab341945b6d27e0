package memory_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// fact returns the arguments of memory_save for a fact about Ann from a message; more are further arguments.
func fact(attribute, value string, message int, more string) string {
	return fmt.Sprintf(`{"content": "Ann says: %s %s", "kind": "fact", "about": "Ann", "attribute": %q, "value": %q, "messages": [%d]%s}`,
		attribute, value, attribute, value, message, more)
}

// cities returns a conversation in which Ann and Bob talk of where she lives: Ann in messages with odd numbers.
func cities(t testing.TB, n int) *store.Conversation {
	t.Helper()
	c := newTalk(t)
	var all []store.Inbound
	for i := 1; i <= n; i++ {
		m := said(i, "Ann's home is in Lisbon or Porto or Oslo or Turin, says she")
		m.Author = "Ann"
		m.AuthorID = "0"
		if i%2 == 0 {
			m.Author = "Bob"
			m.AuthorID = "1"
		}
		all = append(all, m)
	}
	deliver(t, c, all...)
	return c
}

// state returns what is known of a slot: the values that are true now, in doubt, and were true, with when that ended.
func state(t testing.TB, s *store.Store) (lines []string) {
	t.Helper()
	all, _, err := memory.In(s).List(ctx, memory.Filter{State: "all"})
	check.NoError(t, err)
	for _, m := range all {
		line := m.Value + " " + m.State
		if m.State == "superseded" {
			line += " " + m.Ended
		}
		if m.InDoubt {
			line += " in doubt"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

func wantState(t testing.TB, s *store.Store, want ...string) {
	t.Helper()
	slices.Sort(want)
	check.EqualAll(t, "facts", state(t, s), want)
	check.Len(t, "problems", check.Must(s.Upkeep().Check(ctx))(t), 0)
}

func TestNewerFactTakesThePlaceOfOlder(t *testing.T) {
	day := func(n int) string { return said(n, "").Time.Local().Format("2006-01-02") }
	for claim, talk := range map[string]struct {
		saves []string
		want  []string
	}{
		"said later": {
			[]string{fact("home", "Oslo", 1, ""), fact("Home", "Lisbon", 3, "")},
			[]string{"Lisbon active", "Oslo superseded " + day(3)},
		},
		"saved in the other order": {
			[]string{fact("home", "Lisbon", 3, ""), fact("home", "Oslo", 1, "")},
			[]string{"Lisbon active", "Oslo superseded " + day(3)},
		},
		"since later, whatever was said later": {
			[]string{fact("home", "Lisbon", 1, `, "since": "2022-05"`), fact("home", "Oslo", 3, `, "since": "2021"`)},
			[]string{"Lisbon active", "Oslo superseded 2022-05"},
		},
		"each ends where the next begins": {
			[]string{fact("home", "Turin", 1, `, "since": "2022"`), fact("home", "Oslo", 3, `, "since": "2018"`), fact("home", "Porto", 5, `, "since": "2020-02"`)},
			[]string{"Oslo superseded 2020-02", "Porto superseded 2022", "Turin active"},
		},
		"what had ended is older": {
			[]string{fact("home", "Lisbon", 1, ""), fact("home", "Oslo", 3, `, "until": "2020-03"`)},
			[]string{"Lisbon active", "Oslo superseded 2020-03"},
		},
		"back again": {
			[]string{fact("home", "Oslo", 1, ""), fact("home", "Lisbon", 3, ""), fact("home", "Oslo", 5, "")},
			[]string{"Oslo superseded " + day(3), "Lisbon superseded " + day(5), "Oslo active"},
		},
		"what begins later than it is said counts from when it begins": {
			[]string{fact("home", "Lisbon", 3, `, "since": "2019"`), fact("home", "Porto", 5, `, "since": "2033"`), fact("home", "Turin", 7, `, "since": "2020"`)},
			[]string{"Lisbon superseded 2020", "Turin active", "Porto active"}, // Porto in 2033
		},
		"of the same value in other words the older memory is current": {
			[]string{fact("home", "Lisbon", 1, ""), strings.Replace(fact("home", "lisbon", 3, ""), "says", "said", 1)},
			[]string{"Lisbon active", "lisbon superseded "},
		},
		"the one that knows since when stands for the same value": {
			[]string{fact("home", "Lisbon", 1, ""), strings.Replace(fact("home", "Lisbon", 3, `, "since": "2022"`), "says", "said", 1)},
			[]string{"Lisbon active", "Lisbon superseded "},
		},
		"without a value nothing is superseded": {
			[]string{strings.Replace(fact("home", "Oslo", 1, ""), "attribute", "x", 1), strings.Replace(fact("home", "Lisbon", 3, ""), "value", "x", 1)},
			[]string{" active", " active"},
		},
		"two values from one message are in doubt": {
			[]string{fact("home", "Oslo", 1, ""), fact("home", "Lisbon", 1, "")},
			[]string{"Oslo active in doubt", "Lisbon active in doubt"},
		},
		"somebody else does not win over Ann herself": {
			[]string{fact("home", "Oslo", 1, ""), fact("home", "Lisbon", 2, "")},
			[]string{"Oslo active in doubt", "Lisbon active in doubt"},
		},
		"Ann wins over somebody else": {
			[]string{fact("home", "Oslo", 2, ""), fact("home", "Lisbon", 3, "")},
			[]string{"Oslo superseded " + day(3), "Lisbon active"},
		},
		"and says herself what was in doubt": {
			[]string{fact("home", "Oslo", 1, ""), fact("home", "Lisbon", 2, ""), fact("home", "Lisbon", 3, "")},
			[]string{"Oslo superseded " + day(3), "Lisbon active"},
		},
		"what is in doubt may be known by others": {
			[]string{fact("home", "Oslo", 2, ""), fact("home", "Lisbon", 4, "")},
			[]string{"Oslo superseded " + day(4), "Lisbon active"},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			c := cities(t, 9)
			for _, arguments := range talk.saves {
				call(t, toolsAt(c, 9), "memory_save", arguments)
			}
			wantState(t, c.Store(), talk.want...)
		})
	}
}

// One sentence says both: "I moved from Oslo to Lisbon this month."
func TestFactEndsWhereAnotherBegins(t *testing.T) {
	c := cities(t, 1)
	month := said(1, "").Time.Local().Format("2006-01")
	for _, save := range []string{fact("home", "Oslo", 1, `, "until": "`+month+`"`), fact("home", "Lisbon", 1, `, "since": "`+month+`"`)} {
		call(t, toolsAt(c, 2), "memory_save", save)
	}
	wantState(t, c.Store(), "Lisbon active", "Oslo superseded "+month)
}

// TestFactsDoNotDependOnTheOrderOfSaving saves the same facts in random orders.
func TestFactsDoNotDependOnTheOrderOfSaving(t *testing.T) {
	check.SkipUnderRace(t)
	for seed := range uint64(8) {
		dice := rand.New(rand.NewPCG(seed, 1))
		var saves []string
		for i := range 6 {
			more := []string{"", "", `, "since": "2021"`, `, "since": "2022-04"`, `, "since": "2022"`, `, "until": "2021-07"`}[dice.IntN(6)]
			save := fact("home", []string{"Lisbon", "Porto", "Oslo"}[dice.IntN(3)], 1+dice.IntN(7), more)
			saves = append(saves, strings.Replace(save, "Ann says", "Ann "+strings.Repeat("so ", i)+"says", 1))
		}
		var want []string
		for order := range 4 {
			c := cities(t, 7)
			for _, i := range dice.Perm(len(saves)) {
				call(t, toolsAt(c, 7), "memory_save", saves[i])
			}
			got := state(t, c.Store())
			if order == 0 {
				want = got
			}
			check.That(t, slices.Equal(got, want), "seed %d, facts %q:\ngot  %q\nwant %q", seed, saves, got, want)
			check.Len(t, "problems", check.Must(c.Store().Upkeep().Check(ctx))(t), 0)
		}
	}
}

func TestWhatComesBack(t *testing.T) {
	oslo, lisbon := fact("home", "Oslo", 1, ""), fact("home", "Lisbon", 3, `, "since": "2022"`)
	for claim, undo := range map[string]func(*testing.T, *store.Conversation){
		"forgotten":                func(t *testing.T, c *store.Conversation) { check.NoError(t, memory.Of(c).Forget(ctx, 2)) },
		"purged":                   func(t *testing.T, c *store.Conversation) { check.NoError(t, memory.Of(c).Purge(ctx, 2)) },
		"its message is deleted":   func(t *testing.T, c *store.Conversation) { remove(t, c, 3) },
		"its message is edited":    func(t *testing.T, c *store.Conversation) { tell(t, c, 3, "something else") },
		"its value is edited away": func(t *testing.T, c *store.Conversation) { check.NoError(t, memory.Of(c).Edit(ctx, 2, "Ann travels")) },
	} {
		t.Run("the older is true again, without an end, when the newer is gone: "+claim, func(t *testing.T) {
			c := cities(t, 5)
			call(t, toolsAt(c, 5), "memory_save", oslo)
			call(t, toolsAt(c, 5), "memory_save", lisbon)
			check.Equal(t, "until", details(t, c.Store(), 1).Ended, "2022")
			undo(t, c)
			m := details(t, c.Store(), 1)
			check.That(t, m.State == "active" && m.Ended == "" && m.SupersededBy == 0 && !m.ByRule, "got %+v", m)
			check.Len(t, "problems", check.Must(c.Store().Upkeep().Check(ctx))(t), 0)
		})
	}
	t.Run("the same value in the words of somebody else, which are all that stays", func(t *testing.T) {
		c := cities(t, 5)
		call(t, toolsAt(c, 5), "memory_save", strings.Replace(lisbon, "Ann says", "happily and in a hurry, Ann says", 1))
		call(t, toolsAt(c, 5), "memory_save", strings.Replace(fact("home", "Lisbon", 4, ""), "Ann says", "they tell us of Ann's", 1))
		wantState(t, c.Store(), "Lisbon active", "Lisbon superseded ")
		remove(t, c, 3)
		wantState(t, c.Store(), "Lisbon active")
		check.Contains(t, "what stays", details(t, c.Store(), 2).Content, "they tell us")
	})
	t.Run("and superseded once more when it is restored", func(t *testing.T) {
		c := cities(t, 5)
		call(t, toolsAt(c, 5), "memory_save", oslo)
		call(t, toolsAt(c, 5), "memory_save", lisbon)
		check.NoError(t, memory.Of(c).Forget(ctx, 2))
		check.NoError(t, memory.Of(c).Restore(ctx, 2))
		wantState(t, c.Store(), "Oslo superseded 2022", "Lisbon active")
	})
	t.Run("what a model superseded stays so, unless the other is deleted", func(t *testing.T) {
		c := cities(t, 5)
		call(t, toolsAt(c, 5), "memory_save", lisbon)
		call(t, toolsAt(c, 5), "memory_save", fact("home", "Oslo", 5, `, "since": "2021", "supersedes": 1`)) // a correction
		wantState(t, c.Store(), "Lisbon superseded 2021", "Oslo active")
		check.NoError(t, memory.Of(c).Purge(ctx, 2))
		wantState(t, c.Store(), "Lisbon active")
	})
	t.Run("a pinned one is never superseded", func(t *testing.T) {
		c := cities(t, 5)
		call(t, toolsAt(c, 5), "memory_save", oslo)
		check.NoError(t, memory.Of(c).Pin(ctx, 1, true))
		check.Contains(t, "answer", call(t, toolsAt(c, 5), "memory_save", lisbon), "in doubt: memory 1 says otherwise")
		wantState(t, c.Store(), "Oslo active in doubt", "Lisbon active in doubt")
		check.NoError(t, memory.Of(c).Pin(ctx, 1, false))
		wantState(t, c.Store(), "Oslo superseded 2022", "Lisbon active")
	})
	t.Run("a value that is forgotten stays so, in other words too", func(t *testing.T) {
		c := cities(t, 5)
		call(t, toolsAt(c, 5), "memory_save", oslo)
		call(t, toolsAt(c, 5), "memory_save", strings.Replace(fact("home", "Oslo", 3, `, "since": "2021"`), "says", "said", 1))
		check.NoError(t, memory.Of(c).Forget(ctx, 2)) // which stands for both
		wantState(t, c.Store(), "Oslo forgotten", "Oslo forgotten")
		answer := call(t, toolsAt(c, 5), "memory_save", strings.Replace(oslo, "Ann says", "Ann tells us", 1))
		check.Contains(t, "answer", answer, "not saved again")
	})
}

func TestPeopleWithOneNameHaveTheirOwnFacts(t *testing.T) {
	c := newTalk(t)
	for i, id := range []string{"u1", "u2", "u1"} {
		m := said(i+1, "my home is in Lisbon or Porto or Oslo")
		m.AuthorID = id
		m.Author = "Ann"
		deliver(t, c, m)
	}
	for i, city := range []string{"Oslo", "Lisbon", "Porto"} {
		call(t, toolsAt(c, 3), "memory_save", fact("home", city, i+1, ""))
	}
	day := said(3, "").Time.Local().Format("2006-01-02")
	wantState(t, c.Store(), "Oslo superseded "+day, "Lisbon active", "Porto active")
}

// What has a name, and is no person, is the same whoever speaks of it. A date that is the value is not since when it is true.
func TestFactsOfThingsAreEverybodys(t *testing.T) {
	c := newTalk(t)
	for i, text := range []string{"Kiwi starts on 20 June 2023", "Kiwi starts on 9 May 2023"} {
		deliver(t, c, said(i+1, text))
	}
	save := func(day string, message int) string {
		return fmt.Sprintf(`{"content": "Kiwi starts on %[1]s", "kind": "event", "about": "Kiwi", "attribute": "Launch date", "value": "%[1]s", "since": "%[1]s", "messages": [%[2]d]}`, day, message)
	}
	call(t, toolsAt(c, 2), "memory_save", save("9 May 2023", 2))
	check.Contains(t, "answer", call(t, toolsAt(c, 2), "memory_save", save("20 June 2023", 1)), "Memory 1 is newer")
	m := details(t, c.Store(), 1)
	check.That(t, m.Slot == "kiwi: launch date" && m.Since == "2023-05-09" && m.State == "active", "got %+v", m)
	check.Equal(t, "state", details(t, c.Store(), 2).State, "superseded")
}

// A fact that was saved without its attribute gains it, and is found by it.
func TestFactGainsItsAttribute(t *testing.T) {
	c := cities(t, 3)
	keep(t, c, "Ann", "Ann says: home Oslo")
	call(t, toolsAt(c, 3), "memory_save", fact("home", "Oslo", 1, `, "also": ["country", "residence"]`))
	call(t, toolsAt(c, 3), "memory_save", fact("home", "Lisbon", 3, ""))
	day := said(3, "").Time.Local().Format("2006-01-02")
	wantState(t, c.Store(), "Oslo superseded "+day, "Lisbon active")
	check.NoError(t, memory.Of(c).Purge(ctx, 2))
	check.Len(t, "found by a class word", searched(t, c, "residence", 5), 1)
	check.NoError(t, memory.Of(c).Edit(ctx, 1, "Ann says: home Oslo, Norway"))
	check.Len(t, "found after an edit", searched(t, c, "residence", 5), 0)
	check.Equal(t, "value", details(t, c.Store(), 1).Value, "Oslo")
	check.Equal(t, "index", storetest.Number(t, c.Store(), "SELECT count(*) FROM memory_terms WHERE term = 'residence'"), 0)
}
