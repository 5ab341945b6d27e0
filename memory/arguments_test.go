package memory_test

import (
	"strings"
	"testing"
	"time"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

// TestLooseArguments: what small models send to memory_save. Message 3 is Bob's, 4 Ann's.
const (
	plainArguments  = `"content": "Bob moves to Oslo.", "kind": "decision", "messages": [3]`
	factArguments   = `"content": "Bob moves to Oslo.", "kind": "decision"`
	unkindArguments = `"content": "Bob moves to Oslo.", "messages": [3]`
)

// looseWant is the memory that arguments are parsed into.
type looseWant struct {
	kind       string
	importance float64
	from       int64 // the first message it comes from
	messages   int
	expires    string
}

func TestLooseArguments(t *testing.T) {
	as := looseWant{"decision", 0.8, 3, 1, "0001-01-01"}
	with := func(change func(*looseWant)) looseWant { w := as; change(&w); return w }
	kind := func(kind string, importance float64) looseWant {
		return with(func(w *looseWant) { w.kind, w.importance = kind, importance })
	}
	importance := func(n float64) looseWant { return with(func(w *looseWant) { w.importance = n }) }
	messages := func(n int) looseWant { return with(func(w *looseWant) { w.messages = n }) }
	expires := func(day string) looseWant { return with(func(w *looseWant) { w.expires = day }) }
	for arguments, want := range map[string]looseWant{
		`{` + factArguments + `, "messages": ["3"]}`:                                       as,
		`{` + factArguments + `, "messages": "3"}`:                                         as,
		`{` + factArguments + `, "messages": "#3"}`:                                        as,
		`{` + factArguments + `, "messages": ["#3"]}`:                                      as,
		`{` + factArguments + `, "messages": 3}`:                                           as,
		`{` + factArguments + `, "messages": [3.0]}`:                                       as,
		`{` + factArguments + `, "message": 3}`:                                            as,
		`{` + factArguments + `, "messages": "[3]"}`:                                       as,
		`{` + factArguments + `, "messages": "message #3"}`:                                as,
		`{` + factArguments + `, "messages": "3-5"}`:                                       messages(3),
		`{` + factArguments + `, "messages": ["#3 – #5"]}`:                                 messages(3),
		`{` + factArguments + `, "messages": "3, 4 and 6"}`:                                messages(3),
		`{` + factArguments + `, "messages": [3, 9999]}`:                                   as,
		`{` + plainArguments + `, "importance": 8}`:                                        as,
		`{` + plainArguments + `, "importance": "8/10"}`:                                   as,
		`{` + plainArguments + `, "importance": "80%"}`:                                    as,
		`{` + plainArguments + `, "importance": "0.8"}`:                                    as,
		`{` + plainArguments + `, "importance": "high"}`:                                   as,
		`{` + plainArguments + `, "importance": "Low"}`:                                    importance(0.3),
		`{` + plainArguments + `, "importance": 1}`:                                        importance(1),
		`{` + plainArguments + `, "importance": null}`:                                     as,
		`{` + unkindArguments + `, "kind": "Decision"}`:                                    as,
		`{` + unkindArguments + `, "kind": "preferences"}`:                                 kind("preference", 0.7),
		`{` + unkindArguments + `, "kind": "Fact "}`:                                       kind("fact", 0.6),
		`{` + unkindArguments + `, "kind": "to-do"}`:                                       kind("todo", 0.8),
		`{` + unkindArguments + `, "kind": "identities"}`:                                  kind("identity", 1),
		`{` + unkindArguments + `, "kind": ["event"]}`:                                     kind("event", 0.4),
		`{` + unkindArguments + `, "kind": "Person"}`:                                      kind("identity", 1),
		`{` + unkindArguments + `}`:                                                        kind("fact", 0.6),
		`{` + plainArguments + `, "about": "user"}`:                                        as,
		`{` + plainArguments + `, "about": "The User"}`:                                    as,
		`{` + plainArguments + `, "about": "me"}`:                                          as,
		`{` + plainArguments + `, "about": "@bob"}`:                                        as,
		`{` + plainArguments + `, "about": ["Bob"]}`:                                       as,
		`{` + plainArguments + `, "about": null, "supersedes": null}`:                      as,
		`{` + plainArguments + `, "supersedes": ""}`:                                       as,
		`{` + plainArguments + `, "supersedes": "none"}`:                                   as,
		`{` + plainArguments + `, "supersedes": "#0"}`:                                     as,
		`{` + plainArguments + `, "expires": "never"}`:                                     as,
		`{` + plainArguments + `, "expires": ""}`:                                          as,
		`{` + plainArguments + `, "expires": null}`:                                        as,
		`{` + plainArguments + `, "expires": "in 2 weeks"}`:                                expires("2999-03-15"),
		`{` + plainArguments + `, "expires": "a month"}`:                                   expires("2999-03-31"),
		`{` + plainArguments + `, "expires": "in 3d"}`:                                     expires("2999-03-04"),
		`{` + plainArguments + `, "expires": "2999-05-08T15:00:00+02:00"}`:                 expires("2999-05-08"),
		`{` + plainArguments + `, "expires": "Wed, 08 May 2999 15:00:00 GMT"}`:             expires("2999-05-08"),
		`{` + plainArguments + `, "expires": "8 May 2999"}`:                                expires("2999-05-09"),
		`{` + plainArguments + `, "expires": "May 2999"}`:                                  expires("2999-06-01"),
		`{"text": "Bob moves to Oslo.", "kind": "decision", "messages": [3]}`:              as,
		`{"memory": "Bob moves to Oslo.", "kind": "decision", "messages": [3]}`:            as,
		`"{\"content\": \"Bob moves to Oslo.\", \"type\": \"decision\", \"messages\": 3}"`: as,
	} {
		t.Run(arguments, func(t *testing.T) {
			m := savedWith(t, arguments)
			if m.Kind != want.kind || m.Importance != want.importance || m.Sources[0] != want.from || len(m.Sources) != want.messages ||
				m.Content != "Bob moves to Oslo." || m.About != storetest.Said(3, "").Author || m.Expires.Format(time.DateOnly) != want.expires {
				t.Errorf("saved %+v", m)
			}
		})
	}
}

// savedWith returns the memory that a worker saves with these arguments, of messages in the year
// 2999.
func savedWith(t *testing.T, arguments string) memory.Memory {
	t.Helper()
	c := storetest.NewConversation(t)
	var past []store.Inbound
	for n := range 9 {
		m := storetest.Said(n+1, "a note")
		m.Time = m.Time.AddDate(2999-m.Time.Year(), 0, 0)
		past = append(past, m)
	}
	check.Must(c.Past().Import(ctx, past))(t)
	j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 2, 6)
	if answer, err := storetest.Call(j.Tools(20), "memory_save", arguments); err != nil {
		t.Fatalf("%q, %v", answer, err)
	}
	check.Must(j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2}))(t)
	found, _, err := memory.In(c.Store()).List(ctx, memory.Filter{Conversation: c.Name()})
	check.NoError(t, err)
	check.Len(t, "found", found, 1)
	return found[0]
}

// TestInvalidMemoryIsReported: the model gets all errors at once, each with what to send instead.
func TestInvalidMemoryIsReported(t *testing.T) {
	c := storetest.Imported(t, 9)
	storetest.Remove(t, c, 4)
	j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 2, 6)
	for arguments, wants := range map[string][]string{
		`{"content": " ", "kind": "fact", "messages": [2]}`:                                                {"content is empty"},
		`{"content": "` + strings.Repeat("ä", memory.MaxContent+1) + `", "kind": "fact", "messages": [2]}`: {"has 1001 characters, at most 1000"},
		`{"content": "x", "kind": "fact", "messages": [8, 7]}`:                                             {"message 8 is none of yours: messages has numbers from 2 to 6"},
		`{"content": "x", "kind": "fact", "messages": [-4294967294]}`:                                      {"none of yours"},
		`{"content": "x", "kind": "fact", "messages": [4]}`:                                                {"no message 4"},
		`{"content": "x", "kind": "fact", "messages": [2], "about": "Carol"}`:                              {`"Carol", who does not speak here: name one of Ann, Bob`},
		`{"content": "x", "kind": "fact", "messages": [2], "importance": -0.1}`:                            {"from 0 to 1"},
		`{"content": "x", "kind": "gossip", "messages": [3]}`:                                              {`no kind "gossip"`, "use one of identity, goal, decision, todo, preference, fact, event, observation"},
		`{"content": "x", "kind": "fact"}`:                                                                 {"name in messages", "from 2 to 6"},
		`{"content": "x", "kind": "fact", "messages": "the second"}`:                                       {`messages holds "the second"`, "a list of integers"},
		`{"content": "x", "kind": "fact", "messages": 3.5}`:                                                {`messages holds "3.5"`},
		`{"content": "x", "kind": "fact", "messages": "5-3"}`:                                              {`messages holds "5-3"`, "the few messages"},
		`{"content": "x", "kind": "fact", "messages": "1-4000000000"}`:                                     {"the few messages"},
		`{"content": "x", "kind": "fact", "messages": {"from": 3}}`:                                        {"a list of integers"},
		`{"content": "x", "kind": "fact", "messages": [3], "importance": 1.5}`:                             {`importance is "1.5"`, "from 0 to 1"},
		`{"content": "x", "kind": "fact", "messages": [3], "importance": "11/10"}`:                         {"from 0 to 1"},
		`{"content": "x", "kind": "fact", "messages": [3], "importance": "NaN"}`:                           {"from 0 to 1"},
		`{"content": "x", "kind": "fact", "messages": [3], "about": ["a", "b"]}`:                           {"about cannot be read", "one text"},
		`{"content": "x", "kind": "fact", "messages": [3], "expires": "soon"}`:                             {`expires is "soon"`, "2026-05-08"},
		`{"content": "x", "kind": "fact", "messages": [3], "supersedes": "tea"}`:                           {`supersedes is "tea"`, "an integer"},
		`{"content": {"a": 1}, "kind": "fact", "messages": "?", "importance": "x"}`:                        {"content cannot be read", `messages holds "?"`, `importance is "x"`},
		`[{"content": "x"}, {"content": "y"}]`:                                                             {"one object"},
		`"tea"`:                                                                                            {"one object"},
		`null`:                                                                                             {"one object"},
	} {
		check.ErrorContains(t, arguments, check.ErrorOf(storetest.Call(j.Tools(20), "memory_save", arguments)), wants...)
	}
	check.Len(t, "saved", check.Must(j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2}))(t), 0)
}
