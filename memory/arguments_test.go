package memory_test

import (
	"fmt"
	"slices"
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

func TestLooseArguments(t *testing.T) {
	type want struct {
		kind       string
		importance float64
		expires    string
	}
	as := want{"decision", 0.8, "0001-01-01"}
	s := storetest.OpenStore(t, t.TempDir())
	for arguments, want := range map[string]want{
		`{` + factArguments + `, "messages": ["3"]}`:                       as,
		`{` + factArguments + `, "messages": ["#3"]}`:                      as,
		`{` + factArguments + `, "messages": 3}`:                           as,
		`{` + factArguments + `, "messages": [3.0]}`:                       as,
		`{` + factArguments + `, "messages": [3, 9999]}`:                   as,
		`{` + plainArguments + `, "importance": 8}`:                        as,
		`{` + plainArguments + `, "importance": "0.8"}`:                    as,
		`{` + plainArguments + `, "importance": "high"}`:                   as,
		`{` + plainArguments + `, "importance": 1}`:                        {"decision", 1, as.expires},
		`{` + unkindArguments + `, "kind": "Decision "}`:                   as,
		`{` + unkindArguments + `, "kind": "Person"}`:                      {"identity", 1, as.expires},
		`{` + plainArguments + `, "about": "user"}`:                        as,
		`{` + plainArguments + `, "about": "@bob"}`:                        as,
		`{` + plainArguments + `, "about": "Tom the cat"}`:                 as,
		`{` + plainArguments + `, "about": null, "supersedes": null}`:      as,
		`{` + plainArguments + `, "supersedes": ""}`:                       as,
		`{` + plainArguments + `, "supersedes": "#0"}`:                     as,
		`{` + plainArguments + `, "expires": "never"}`:                     as,
		`{` + plainArguments + `, "expires": null, "importance": null}`:    as,
		`{` + plainArguments + `, "expires": "3d"}`:                        {"decision", 0.8, "2999-03-04"},
		`{` + plainArguments + `, "expires": "2999-05-08"}`:                {"decision", 0.8, "2999-05-09"},
		`{` + plainArguments + `, "expires": "2999-05-08T15:00:00+02:00"}`: {"decision", 0.8, "2999-05-08"},
	} {
		t.Run(arguments, func(t *testing.T) {
			m := savedWith(t, storetest.Find(t, s, fmt.Sprint("terminal:", arguments)), arguments)
			if m.Kind != want.kind || m.Importance != want.importance || !slices.Equal(m.Sources, []int64{3}) || m.Content != "Bob moves to Oslo." ||
				m.About != storetest.Said(3, "").Author || m.Expires.Format(time.DateOnly) != want.expires {
				t.Errorf("saved %+v", m)
			}
		})
	}
}

// savedWith returns the memory that a worker saves with these arguments, of messages in the year
// 2999.
func savedWith(t *testing.T, c *store.Conversation, arguments string) memory.Memory {
	t.Helper()
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

// TestInvalidMemoryIsReported: the model is told what to send instead.
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
		`{"content": "x", "kind": "fact", "messages": [2], "importance": -0.1}`:                            {"from 0 to 1"},
		`{"content": "x", "kind": "gossip", "messages": [3]}`:                                              {`no kind "gossip"`, "use one of identity, goal, decision, todo, preference, fact, event, observation"},
		`{"content": "x", "kind": "fact"}`:                                                                 {"name in messages", "from 2 to 6"},
		`{"content": "x", "kind": "fact", "messages": "the second"}`:                                       {`messages holds "the second"`, "a list of integers"},
		`{"content": "x", "kind": "fact", "messages": 3.5}`:                                                {`messages holds "3.5"`},
		`{"content": "x", "kind": "fact", "messages": {"from": 3}}`:                                        {"one object"},
		`{"content": "x", "kind": "fact", "messages": [3], "importance": 1.5}`:                             {"from 0 to 1"},
		`{"content": "x", "kind": "fact", "messages": [3], "importance": 11}`:                              {"from 0 to 1"},
		`{"content": "x", "kind": "fact", "messages": [3], "importance": "NaN"}`:                           {"from 0 to 1"},
		`{"content": "x", "kind": "fact", "messages": [3], "importance": "much"}`:                          {`importance is "much"`, "from 0 to 1"},
		`{"content": "x", "kind": "fact", "messages": [3], "expires": "soon"}`:                             {`expires is "soon"`, "2026-05-08"},
		`{"content": "x", "kind": "fact", "messages": [3], "supersedes": "tea"}`:                           {`supersedes is "tea"`, "an integer"},
		`{"content": {"a": 1}, "kind": "fact", "messages": [3]}`:                                           {"one object"},
		`[{"content": "x"}, {"content": "y"}]`:                                                             {"one object"},
		`"tea"`:                                                                                            {"one object"},
	} {
		check.ErrorContains(t, arguments, check.ErrorOf(storetest.Call(j.Tools(20), "memory_save", arguments)), wants...)
	}
	check.Len(t, "saved", check.Must(j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2}))(t), 0)
}
