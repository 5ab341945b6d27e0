package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/memory"
	"cairn/privacy"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// Small models write facts in many forms.
func TestFormsOfFacts(t *testing.T) {
	for more, want := range map[string]string{
		`"attribute": "Home", "value": "Lisbon", "since": "2022-05"`:      "home=Lisbon since 2022-05 until  []",
		`"attribute": "home", "value": ["Lisbon"], "since": 2022`:         "home=Lisbon since 2022 until  []",
		`"attribute": "home", "value": ["Lisbon", "Porto"]`:               "= since  until  []",
		`"attribute": "home", "value": null, "since": null, "also": null`: "= since  until  []",
		`"attribute": "home"`:                                                     "= since  until  []",
		`"value": "Lisbon"`:                                                       "= since  until  []",
		`"attribute": "parking", "value": true`:                                   "parking=true since  until  []",
		`"since": "May 2022", "until": "8 June 2022"`:                             "= since 2022-05 until 2022-06-08 []",
		`"since": "2022-05-08T15:00:00Z", "until": "now"`:                         "= since 2022-05-08 until  []",
		`"since": "once upon a time", "until": "some day"`:                        "= since  until  []",
		`"since": "2022-05", "until": "2021"`:                                     "= since 2022-05 until  []",
		`"since": "2022-05", "until": "2022"`:                                     "= since 2022-05 until 2022 []",
		`"also": "country, sport"`:                                                "= since  until  [country sport]",
		`"also": ["a", "a", "b", "", "c", "d", "e", "f", "g"]`:                    "= since  until  [a b c d e f]",
		`"attribute": "<b>home</b>", "value": "  Lisbon \n by the sea "`:          "<b>home</b>=Lisbon by the sea since  until  []",
		`"attribute": "key", "value": "ghp_k7Zq2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1"`: "= since  until  []",
	} {
		c := cities(t, 3)
		call(t, toolsAt(c, 3), "memory_save", fmt.Sprintf(`{"content": "Ann's home is in Lisbon", "kind": "fact", "messages": [1], %s}`, more))
		m := details(t, c.Store(), 1)
		got := fmt.Sprintf("%s=%s since %s until %s %v", m.Attribute, m.Value, m.Since, m.Until, m.Also)
		if m.Attribute == "Home" {
			check.Equal(t, "slot", m.Slot, "home")
			got = "h" + got[1:]
		}
		check.Equal(t, more, got, want)
	}
}

func TestFactsSayWhenTheyAreTrue(t *testing.T) {
	c := cities(t, 5)
	call(t, toolsAt(c, 5), "memory_save", fact("home", "Oslo", 1, `, "since": "2019"`))
	call(t, toolsAt(c, 5), "memory_save", fact("home", "Lisbon", 3, `, "since": "2022-05"`))
	call(t, toolsAt(c, 5), "memory_save", fact("home", "Porto", 4, ""))
	lines := map[int64]string{1: "since 2019, said 1 March 2026, was so until May 2022, superseded by 2", 2: "since May 2022, said 1 March 2026, in doubt", 3: "in doubt"}
	for id, want := range lines {
		check.Contains(t, "line", details(t, c.Store(), id).String(), want)
	}
	answer := call(t, toolsAt(c, 5), "memory_search", `{"query": "home Oslo Lisbon"}`)
	check.Contains(t, "answer of memory_search", answer, `"since":"2019","until":"2022-05","note":"was so"`, `"since":"2022-05","note":"in doubt"`)
	check.Equal(t, "for a model", details(t, c.Store(), 1).Period(), "since 2019, was so until 2022-05, ")
	check.Equal(t, "for a model", details(t, c.Store(), 2).Period(), "since 2022-05, in doubt, ")
	check.Len(t, "active", searched(t, c, "home", 5), 2)
}

// Who opted out is in no field of a memory.
func TestFactsOfThoseWhoOptedOut(t *testing.T) {
	c := cities(t, 3)
	sayHello(t, c, 9, "u7", "Carl")
	check.Must(privacy.Of(c).OptOut(ctx, "u7", "Carl", true))(t)
	for _, more := range []string{`"also": ["Carl"]`, `"attribute": "home", "value": "Carl's house"`} {
		arguments := fmt.Sprintf(`{"content": "Ann's home is in Lisbon", "kind": "fact", "messages": [1], %s}`, more)
		_, err := storetest.Call(toolsAt(c, 3), "memory_save", arguments)
		check.That(t, err != nil, "%s is saved", more)
	}
}

// Whom a fact is about need not have written what the worker reads: an erasure of theirs, and /optout, find it all the same.
func TestFactAboutSomebodyWhoSpokeEarlier(t *testing.T) {
	c := newTalk(t)
	saved := func(n int, home string) string {
		m := said(n, "Carl's home is in "+home+" now")
		m.Author = "Bob"
		m.AuthorID = "u1"
		deliver(t, c, m)
		arguments := fmt.Sprintf(`{"content": %q, "kind": "fact", "about": "Carl", "attribute": "home", "value": %q, "messages": [%d]}`, m.Text, home, n)
		j := worker(t, c, int64(n), int64(n))
		call(t, j.Tools(20), "memory_save", arguments)
		finish(t, j)
		found, _, err := memory.Of(c).List(ctx, memory.Filter{Query: home, State: "all"})
		check.NoError(t, err)
		check.Require(t, len(found) == 1, "%s: found %+v", home, found)
		return found[0].About + " " + found[0].AboutID
	}
	sayHello(t, c, 1, "u7", "Carl")
	check.Equal(t, "about", saved(2, "Porto"), "Carl u7")
	sayHello(t, c, 3, "u8", "Carl")
	check.Equal(t, "about one of two", saved(4, "Turin"), "Carl ")
}

// The name of a thing may be nowhere but in the slot of its fact.
func TestEditTakesFactsOfWhatItNoLongerNames(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, said(1, "Xanadu opens in May in the old harbour of Lisbon"))
	call(t, toolsAt(c, 1), "memory_save", `{"content": "It opens in May in the old harbour", "kind": "fact", "about": "Xanadu", "attribute": "opening", "value": "May", "messages": [1]}`)
	check.Equal(t, "slot", details(t, c.Store(), 1).Slot, "xanadu: opening")
	tell(t, c, 1, "it opens in May in the old harbour of Lisbon")
	check.Equal(t, "memories", number(t, c.Store(), "SELECT count(*) FROM memories"), 0)
}

// A memory may state something in fields since a later message alone.
func TestFactGoesWithTheMessagesThatStateIt(t *testing.T) {
	bare := strings.Replace(strings.Replace(fact("home", "Oslo", 1, ""), `"attribute"`, `"x"`, 1), `"value"`, `"y"`, 1)
	stating := func(message int) string {
		return fact("home", "Oslo", message, `, "since": "2022-05", "also": ["residence"]`)
	}
	for claim, test := range map[string]struct {
		saves   []string
		removed int
		want    []string
	}{
		"the one that added it":                       {[]string{bare, stating(3)}, 3, []string{" active"}},
		"not the one without it":                      {[]string{bare, stating(3)}, 1, []string{"Oslo active"}},
		"the only one that had it":                    {[]string{stating(1), strings.Replace(bare, "[1]", "[3]", 1)}, 1, []string{" active"}},
		"one of two that say the same":                {[]string{stating(1), stating(3)}, 1, []string{"Oslo active"}},
		"one of two, of which the other knows less":   {[]string{stating(1), fact("home", "Oslo", 3, "")}, 1, []string{" active"}},
		"of a value that another one superseded":      {[]string{bare, stating(3), fact("home", "Lisbon", 5, "")}, 3, []string{" active", "Lisbon active"}},
		"of a value that superseded another one":      {[]string{fact("home", "Turin", 1, ""), bare, stating(3)}, 3, []string{" active", "Turin active"}},
		"of a value that contradicted that of others": {[]string{bare, stating(3), fact("home", "Porto", 4, "")}, 3, []string{" active", "Porto active"}},
	} {
		t.Run(claim, func(t *testing.T) {
			c := cities(t, 5)
			for _, arguments := range test.saves {
				call(t, toolsAt(c, 5), "memory_save", arguments)
			}
			remove(t, c, test.removed)
			wantState(t, c.Store(), test.want...)
			stays := 0
			if slices.Contains(test.want, "Oslo active") {
				stays = 1
			}
			check.Len(t, "found by a class word", searched(t, c, "residence", 5), stays)
			check.Equal(t, "rows with its fields", number(t, c.Store(), "SELECT count(*) FROM memories WHERE since <> '' OR also LIKE '%residence%'"), stays)
		})
	}
}
