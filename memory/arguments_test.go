package memory

import (
	"strings"
	"testing"
	"time"

	"cairn/compactor/summarize"
	"cairn/internal/check"
)

// TestLooseArguments: what small models send to memory_save. Message 3 is Bob's, 4 Ann's.
func TestLooseArguments(t *testing.T) {
	const plain = `"content": "Bob moves to Oslo.", "kind": "decision", "messages": [3]`
	const facts = `"content": "Bob moves to Oslo.", "kind": "decision"`
	const unkind = `"content": "Bob moves to Oslo.", "messages": [3]`
	type want struct {
		kind       string
		importance float64
		from       int64 // the first message it comes from
		messages   int
		expires    string
	}
	as := want{"decision", 0.8, 3, 1, "0001-01-01"}
	with := func(change func(*want)) want { w := as; change(&w); return w }
	kind := func(kind string, importance float64) want {
		return with(func(w *want) { w.kind, w.importance = kind, importance })
	}
	importance := func(n float64) want { return with(func(w *want) { w.importance = n }) }
	messages := func(n int) want { return with(func(w *want) { w.messages = n }) }
	expires := func(day string) want { return with(func(w *want) { w.expires = day }) }
	for arguments, want := range map[string]want{
		`{` + facts + `, "messages": ["3"]}`:                                               as,
		`{` + facts + `, "messages": "3"}`:                                                 as,
		`{` + facts + `, "messages": "#3"}`:                                                as,
		`{` + facts + `, "messages": ["#3"]}`:                                              as,
		`{` + facts + `, "messages": 3}`:                                                   as,
		`{` + facts + `, "messages": [3.0]}`:                                               as,
		`{` + facts + `, "message": 3}`:                                                    as,
		`{` + facts + `, "messages": "[3]"}`:                                               as,
		`{` + facts + `, "messages": "message #3"}`:                                        as,
		`{` + facts + `, "messages": "3-5"}`:                                               messages(3),
		`{` + facts + `, "messages": ["#3 – #5"]}`:                                         messages(3),
		`{` + facts + `, "messages": "3, 4 and 6"}`:                                        messages(3),
		`{` + facts + `, "messages": [3, 9999]}`:                                           as,
		`{` + plain + `, "importance": 8}`:                                                 as,
		`{` + plain + `, "importance": "8/10"}`:                                            as,
		`{` + plain + `, "importance": "80%"}`:                                             as,
		`{` + plain + `, "importance": "0.8"}`:                                             as,
		`{` + plain + `, "importance": "high"}`:                                            as,
		`{` + plain + `, "importance": "Low"}`:                                             importance(0.3),
		`{` + plain + `, "importance": 1}`:                                                 importance(1),
		`{` + plain + `, "importance": null}`:                                              as,
		`{` + unkind + `, "kind": "Decision"}`:                                             as,
		`{` + unkind + `, "kind": "preferences"}`:                                          kind("preference", 0.7),
		`{` + unkind + `, "kind": "Fact "}`:                                                kind("fact", 0.6),
		`{` + unkind + `, "kind": "to-do"}`:                                                kind("todo", 0.8),
		`{` + unkind + `, "kind": "identities"}`:                                           kind("identity", 1),
		`{` + unkind + `, "kind": ["event"]}`:                                              kind("event", 0.4),
		`{` + unkind + `, "kind": "Person"}`:                                               kind("identity", 1),
		`{` + unkind + `}`:                                                                 kind("fact", 0.6),
		`{` + plain + `, "about": "user"}`:                                                 as,
		`{` + plain + `, "about": "The User"}`:                                             as,
		`{` + plain + `, "about": "me"}`:                                                   as,
		`{` + plain + `, "about": "@bob"}`:                                                 as,
		`{` + plain + `, "about": ["Bob"]}`:                                                as,
		`{` + plain + `, "about": null, "supersedes": null}`:                               as,
		`{` + plain + `, "supersedes": ""}`:                                                as,
		`{` + plain + `, "supersedes": "none"}`:                                            as,
		`{` + plain + `, "supersedes": "#0"}`:                                              as,
		`{` + plain + `, "expires": "never"}`:                                              as,
		`{` + plain + `, "expires": ""}`:                                                   as,
		`{` + plain + `, "expires": null}`:                                                 as,
		`{` + plain + `, "expires": "in 2 weeks"}`:                                         expires("2999-03-15"),
		`{` + plain + `, "expires": "a month"}`:                                            expires("2999-03-31"),
		`{` + plain + `, "expires": "in 3d"}`:                                              expires("2999-03-04"),
		`{` + plain + `, "expires": "2999-05-08T15:00:00+02:00"}`:                          expires("2999-05-08"),
		`{` + plain + `, "expires": "Wed, 08 May 2999 15:00:00 GMT"}`:                      expires("2999-05-08"),
		`{` + plain + `, "expires": "8 May 2999"}`:                                         expires("2999-05-09"),
		`{` + plain + `, "expires": "May 2999"}`:                                           expires("2999-06-01"),
		`{"text": "Bob moves to Oslo.", "kind": "decision", "messages": [3]}`:              as,
		`{"memory": "Bob moves to Oslo.", "kind": "decision", "messages": [3]}`:            as,
		`"{\"content\": \"Bob moves to Oslo.\", \"type\": \"decision\", \"messages\": 3}"`: as,
	} {
		t.Run(arguments, func(t *testing.T) {
			m := savedWith(t, arguments)
			if m.Kind != want.kind || m.Importance != want.importance || m.Sources[0] != want.from || len(m.Sources) != want.messages ||
				m.Content != "Bob moves to Oslo." || m.About != said(3, "").Author || m.Expires.Format(time.DateOnly) != want.expires {
				t.Errorf("saved %+v", m)
			}
		})
	}
}

// savedWith is the memory that a worker saves with these arguments, of messages in the year 2999.
func savedWith(t *testing.T, arguments string) Memory {
	t.Helper()
	c := newConversation(t)
	var past []Inbound
	for n := range 9 {
		m := said(n+1, "a note")
		m.Time = m.Time.AddDate(2999-m.Time.Year(), 0, 0)
		past = append(past, m)
	}
	check.Must(c.Past().Import(ctx, past))(t)
	j := begin(t, c, leaf, worker, 2, 6)
	if answer, err := call(j.Tools(20), "memory_save", arguments); err != nil {
		t.Fatalf("%q, %v", answer, err)
	}
	check.Must(j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2}))(t)
	found, _, err := c.store.Memories().List(ctx, Filter{Conversation: c.Name()})
	if err != nil || len(found) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	return found[0]
}

// TestArgumentsWithoutAPlainMeaning: the model hears what was wrong and what to send, of
// all that is wrong at once.
func TestArgumentsWithoutAPlainMeaning(t *testing.T) {
	for arguments, wants := range map[string][]string{
		`{"content": "x", "kind": "gossip", "messages": [3]}`:                       {`no kind "gossip"`, "use one of identity, goal"},
		`{"content": "x", "kind": "fact"}`:                                          {"name in messages", "from 2 to 6"},
		`{"content": "x", "kind": "fact", "messages": "the second"}`:                {`messages holds "the second"`, "a list of integers"},
		`{"content": "x", "kind": "fact", "messages": 3.5}`:                         {`messages holds "3.5"`},
		`{"content": "x", "kind": "fact", "messages": "5-3"}`:                       {`messages holds "5-3"`, "the few messages"},
		`{"content": "x", "kind": "fact", "messages": "1-4000000000"}`:              {"the few messages"},
		`{"content": "x", "kind": "fact", "messages": {"from": 3}}`:                 {"a list of integers"},
		`{"content": "x", "kind": "fact", "messages": [3], "importance": 1.5}`:      {`importance is "1.5"`, "from 0 to 1"},
		`{"content": "x", "kind": "fact", "messages": [3], "importance": "11/10"}`:  {"from 0 to 1"},
		`{"content": "x", "kind": "fact", "messages": [3], "importance": "NaN"}`:    {"from 0 to 1"},
		`{"content": "x", "kind": "fact", "messages": [3], "about": ["a", "b"]}`:    {"about cannot be read", "one text"},
		`{"content": "x", "kind": "fact", "messages": [3], "expires": "soon"}`:      {`expires is "soon"`, "2026-05-08"},
		`{"content": "x", "kind": "fact", "messages": [3], "supersedes": "tea"}`:    {`supersedes is "tea"`, "an integer"},
		`{"content": {"a": 1}, "kind": "fact", "messages": "?", "importance": "x"}`: {"content cannot be read", `messages holds "?"`, `importance is "x"`},
		`[{"content": "x"}, {"content": "y"}]`:                                      {"one object"},
		`"tea"`:                                                                     {"one object"},
		`null`:                                                                      {"one object"},
	} {
		c := imported(t, 9)
		j := begin(t, c, leaf, worker, 2, 6)
		answer, err := call(j.Tools(20), "memory_save", arguments)
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q, %v, want %q", arguments, answer, err, want)
			}
		}
	}
}
