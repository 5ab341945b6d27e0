package memory_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// day returns the local day some days from now.
func day(n int) string { return time.Now().AddDate(0, 0, n).Format(time.DateOnly) }

// pass lets days pass: everything that is stored is that much older.
func pass(t testing.TB, s *store.Store, days int) {
	t.Helper()
	const millis = 24 * 60 * 60 * 1000
	storetest.Run(t, s, "UPDATE messages SET said_at = said_at - ?", days*millis)
	storetest.Run(t, s, "UPDATE memories SET said_at = said_at - ?1, saved_at = saved_at - ?1, expires_at = expires_at - ?1", days*millis)
	for _, column := range []string{"since", "until"} {
		for _, row := range storetest.Rows(t, s, "SELECT id, "+column+" FROM memories WHERE length("+column+") = 10") {
			id, is, _ := strings.Cut(row, "|")
			earlier := check.Must(time.Parse(time.DateOnly, is))(t).AddDate(0, 0, -days).Format(time.DateOnly)
			storetest.Run(t, s, "UPDATE memories SET "+column+" = ? WHERE id = "+id, earlier)
		}
	}
}

// sayings returns a conversation with a message on each of some days before now, by Ann, or, where the number is negative, by Bob.
func sayings(t testing.TB, ages ...int) *store.Conversation {
	t.Helper()
	c := newTalk(t)
	for i, age := range ages {
		m := said(i+1, "Ann's home is in Lisbon or Porto or Oslo or Turin, says she")
		m.Author, m.AuthorID = "Ann", "0"
		if age < 0 {
			m.Author, m.AuthorID = "Bob", "1"
		}
		m.Time = time.Now().AddDate(0, 0, -max(age, -age))
		deliver(t, c, m)
	}
	return c
}

// views are what the readers show of Ann's home: each value with what is said of whether it is true now.
func views(t testing.TB, c *store.Conversation) (of map[string][]string) {
	t.Helper()
	of = map[string][]string{}
	add := func(reader string, all []memory.Memory, note func(memory.Memory) string) {
		for _, m := range all {
			if m.State == "superseded" && m.Ended == "" { // another one stands for it, or it never began
				continue
			}
			of[reader] = append(of[reader], strings.TrimSpace(m.Value+" "+note(m)))
		}
		slices.Sort(of[reader])
		of[reader] = slices.Compact(of[reader])
	}
	for reader, f := range map[string]memory.Filter{"search": {Query: "home Ann", State: "known"}, "list": {State: "known"}} {
		found, _, err := memory.Of(c).List(ctx, f)
		check.NoError(t, err)
		add(reader, found, memory.Memory.Doubt)
	}
	p := check.Must(memory.Of(c).Profile(ctx, "Ann"))(t)
	of["SQL"] = storetest.Rows(t, c.Store(), `SELECT DISTINCT value || CASE in_doubt WHEN 1 THEN ' in doubt' ELSE '' END FROM memories_view
		WHERE state = 'active' AND since <= date('now', 'localtime') ORDER BY 1`)
	add("person", p.Now, func(memory.Memory) string { return "" })
	add("person", p.Doubt, func(memory.Memory) string { return "in doubt" })
	add("person", p.Past, func(memory.Memory) string { return "was so" })
	add("person", p.Other, func(m memory.Memory) string { return "not before " + m.Since })
	return of
}

func wantViews(t testing.TB, c *store.Conversation, claim string, want ...string) {
	t.Helper()
	slices.Sort(want)
	shown := views(t, c)
	for _, reader := range []string{"search", "list", "person"} {
		check.EqualAll(t, claim+": "+reader, shown[reader], want)
	}
	past := func(view string) bool {
		return strings.Contains(view, "was so") || strings.Contains(view, "not before")
	}
	check.EqualAll(t, claim+": SQL", shown["SQL"], slices.DeleteFunc(slices.Clone(want), past))
	check.Len(t, claim+": problems", check.Must(c.Store().Upkeep().Check(ctx))(t), 0)
}

func TestPlannedValueIsTrueFromItsDayOn(t *testing.T) {
	c := sayings(t, 20, 5)
	tools := toolsAt(c, 2)
	call(t, tools, "memory_save", fact("home", "Oslo", 1, ""))
	answer := call(t, tools, "memory_save", fact("home", "Lisbon", 2, `, "since": "`+day(10)+`"`))
	check.Contains(t, "answer", answer, "takes the place of memory 1 from "+day(10)+" on")
	wantViews(t, c, "before", "Oslo", "Lisbon not before "+day(10))
	check.Equal(t, "until when", details(t, c.Store(), 1).End(), day(10))
	check.Contains(t, "for a model", details(t, c.Store(), 1).Period(), "until "+day(10))
	check.Equal(t, "for a model", details(t, c.Store(), 2).Period(), "not before "+day(10)+", ")
	check.Contains(t, "for people", details(t, c.Store(), 2).String(), "not before ")
	for state, want := range map[string]int{"active": 2, "current": 2, "expired": 0, "superseded": 0, "known": 2} {
		check.Equal(t, state, listedAs(t, c, state), want)
	}
	pass(t, c.Store(), 9)
	wantViews(t, c, "the day before", "Oslo", "Lisbon not before "+day(1))
	pass(t, c.Store(), 1)
	wantViews(t, c, "on its day", "Oslo was so", "Lisbon")
	check.Equal(t, "until when", details(t, c.Store(), 1).Ended, day(0))
	for state, want := range map[string]int{"active": 1, "current": 1, "expired": 0, "superseded": 1, "known": 2} {
		check.Equal(t, state, listedAs(t, c, state), want)
	}
	check.NoError(t, memory.Of(c).Purge(ctx, 2))
	wantViews(t, c, "without the plan", "Oslo")
	check.Equal(t, "until when", details(t, c.Store(), 1).End(), "")
}

func listedAs(t testing.TB, c *store.Conversation, state string) (total int) {
	t.Helper()
	_, total, err := memory.Of(c).List(ctx, memory.Filter{State: state})
	check.NoError(t, err)
	return total
}

func TestPlans(t *testing.T) {
	plan := func(value string, message, in int) string {
		return fact("home", value, message, `, "since": "`+day(in)+`"`)
	}
	for claim, test := range map[string]struct {
		ages         []int
		saves        []string
		before, then []string // then: in ten days
	}{
		"what is said of the time before it does not end a plan": {
			[]int{20, 15, 5},
			[]string{fact("home", "Oslo", 1, ""), plan("Lisbon", 2, 10), fact("home", "Turin", 3, "")},
			[]string{"Oslo was so", "Turin", "Lisbon not before " + day(10)},
			[]string{"Oslo was so", "Turin was so", "Lisbon"},
		},
		"a newer plan for the same day takes the place of the older one at once": {
			[]int{20, 15, 5},
			[]string{fact("home", "Oslo", 1, ""), plan("Lisbon", 2, 10), plan("Turin", 3, 10)},
			[]string{"Oslo", "Turin not before " + day(10)},
			[]string{"Oslo was so", "Turin"},
		},
		"two plans follow each other": {
			[]int{20, 15, 5},
			[]string{plan("Lisbon", 2, 5), fact("home", "Oslo", 1, ""), plan("Turin", 3, 10)},
			[]string{"Oslo", "Lisbon not before " + day(5), "Turin not before " + day(10)},
			[]string{"Oslo was so", "Lisbon was so", "Turin"},
		},
		"what somebody else says of Ann's plans is in doubt from its day on": {
			[]int{20, -5},
			[]string{fact("home", "Oslo", 1, ""), plan("Lisbon", 2, 10)},
			[]string{"Oslo", "Lisbon not before " + day(10)},
			[]string{"Oslo in doubt", "Lisbon in doubt"},
		},
		"the same value from a later day on": {
			[]int{20, 5},
			[]string{fact("home", "Lisbon", 1, ""), strings.Replace(plan("Lisbon", 2, 10), "says", "said", 1)},
			[]string{"Lisbon", "Lisbon not before " + day(10)},
			[]string{"Lisbon"},
		},
		"a model that names the older one changes nothing": {
			[]int{20, 5},
			[]string{fact("home", "Oslo", 1, ""), fact("home", "Lisbon", 2, `, "since": "`+day(10)+`", "supersedes": 1`)},
			[]string{"Oslo", "Lisbon not before " + day(10)},
			[]string{"Oslo was so", "Lisbon"},
		},
		"an announced end": {
			[]int{20, 5},
			[]string{fact("home", "Oslo", 1, `, "until": "`+day(7)+`"`), plan("Lisbon", 2, 10)},
			[]string{"Oslo", "Lisbon not before " + day(10)},
			[]string{"Oslo was so", "Lisbon"},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			c := sayings(t, test.ages...)
			for _, arguments := range test.saves {
				call(t, toolsAt(c, int64(len(test.ages))), "memory_save", arguments)
			}
			wantViews(t, c, "before", test.before...)
			pass(t, c.Store(), 10)
			wantViews(t, c, "then", test.then...)
		})
	}
}

func TestFactsEndByThemselves(t *testing.T) {
	t.Run("what has an end was so from then on, for every reader", func(t *testing.T) {
		c := sayings(t, 5)
		call(t, toolsAt(c, 1), "memory_save", fact("home", "Oslo", 1, `, "until": "`+day(3)+`"`))
		wantViews(t, c, "before", "Oslo")
		pass(t, c.Store(), 3)
		wantViews(t, c, "on its last day", "Oslo")
		pass(t, c.Store(), 1)
		wantViews(t, c, "after it", "Oslo was so")
		check.Equal(t, "for a model", details(t, c.Store(), 1).Period(), "was so until "+day(-1)+", ")
		check.Contains(t, "for people", details(t, c.Store(), 1).String(), "was so until ")
		for state, want := range map[string]int{"active": 0, "current": 1, "expired": 1, "superseded": 0, "known": 1} {
			check.Equal(t, state, listedAs(t, c, state), want)
		}
	})
	for claim, more := range map[string]string{"it ends": `, "until": "` + day(2) + `"`, "it expires": `, "expires": "` + day(2) + `"`} {
		t.Run("what contradicts another value does so no longer when "+claim, func(t *testing.T) {
			c := sayings(t, 5, -4)
			call(t, toolsAt(c, 2), "memory_save", fact("home", "Oslo", 1, ""))
			call(t, toolsAt(c, 2), "memory_save", fact("home", "Porto", 2, more))
			wantViews(t, c, "before", "Oslo in doubt", "Porto in doubt")
			pass(t, c.Store(), 3)
			check.That(t, slices.Contains(views(t, c)["list"], "Oslo"), "got %q", views(t, c))
			check.EqualAll(t, "person", views(t, c)["person"], []string{"Oslo", "Porto was so"})
		})
	}
	t.Run("what expires does not stand for the same value that does not", func(t *testing.T) {
		c := sayings(t, 5, 4)
		call(t, toolsAt(c, 2), "memory_save", fact("home", "Oslo", 1, ""))
		call(t, toolsAt(c, 2), "memory_save", strings.Replace(fact("home", "Oslo", 2, `, "since": "2020", "expires": "`+day(2)+`"`), "says", "said", 1))
		pass(t, c.Store(), 1)
		wantViews(t, c, "before", "Oslo")
		storetest.Run(t, c.Store(), "UPDATE memories SET expires_at = 1 WHERE expires_at > 0")
		check.EqualAll(t, "after", views(t, c)["list"], []string{"Oslo"})
	})
	t.Run("what another value ended earlier than announced ended then", func(t *testing.T) {
		c := sayings(t, 5, 4)
		call(t, toolsAt(c, 2), "memory_save", fact("home", "Oslo", 1, `, "until": "`+day(9)+`"`))
		call(t, toolsAt(c, 2), "memory_save", fact("home", "Porto", 2, ""))
		wantViews(t, c, "now", "Oslo was so", "Porto")
		check.Equal(t, "until", details(t, c.Store(), 1).End(), day(-4))
	})
}
