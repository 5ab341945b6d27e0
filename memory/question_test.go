package memory_test

import (
	"testing"
	"time"

	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// Small models write fields in other forms than the schema has.
func TestToolsReadFields(t *testing.T) {
	now := time.Now()
	hours := func(ago float64) float64 {
		return now.Add(-time.Duration(ago*60) * time.Minute).Sub(storetest.Day).Hours()
	}
	c := talked(t, spoken(1, hours(24*40), "Ada", "the hotel is by the sea"), spoken(2, hours(24), "Bob", "the hotel is full"), spoken(3, hours(0), "Ada", "another hotel"))
	draft := summarize.MemoryDraft{Kind: "fact", Content: "Ada likes the hotel", About: "Ada", Messages: []int64{1}}
	check.Must(memory.Of(c).Keep(ctx, memory.KeepRequest{Person: "Ada", MemoryDraft: draft}))(t)
	tools := toolsAt(c, 4)
	month := now.AddDate(0, 0, -40).Format("2006-01")
	for _, test := range []struct {
		tool, arguments string
		has, lacks      []string
	}{
		{"recall", `{"query": "hotel", "by": "@ada"}`, []string{`"seq":1`, `"seq":3`}, []string{`"seq":2`}},
		{"recall", `{"query": "", "by": "ADA", "order": "OLDEST"}`, []string{`[{"seq":1`, `"seq":3`}, []string{`"seq":2`}},
		{"recall", `{"query": "hotel", "by": "anyone", "since": null, "until": "none", "order": "latest"}`, []string{`[{"seq":3`, `"seq":2`, `"seq":1`}, nil},
		{"recall", `{"query": "", "since": "yesterday", "until": "yesterday"}`, []string{`"seq":2`}, []string{`"seq":1`, `"seq":3`}},
		{"recall", `{"query": "", "since": "2 days"}`, []string{`"seq":2`, `"seq":3`}, []string{`"seq":1`}},
		{"recall", `{"query": "hotel", "until": "` + month + `"}`, []string{`"seq":1`}, []string{`"seq":2`}},
		{"recall", `{"query": "hotel", "since": "gestern", "until": "now"}`, []string{`"seq":2`}, []string{`"seq":1`}},
		{"memory_search", `{"query": "", "about": "@ada"}`, []string{"likes the hotel"}, nil},
		{"memory_search", `{"query": "", "about": "Bob"}`, []string{`"total":0`}, nil},
	} {
		answer := call(t, tools, test.tool, test.arguments)
		check.Contains(t, test.arguments, answer, test.has...)
		check.Lacks(t, test.arguments, answer, test.lacks...)
	}
	for _, test := range []struct{ tool, arguments, want string }{
		{"recall", `{"query": "hotel", "by": "Eve"}`, `nobody here is called "Eve": use one of these names: Ada, Bob`},
		{"recall", `{"query": "hotel", "since": "soon"}`, `since is "soon": write a day, "2026-05-08"`},
		{"recall", `{"query": "hotel", "order": "beauty"}`, `order is "beauty": write best, newest, oldest`},
		{"recall", `{"query": " "}`, `send words to search for in query`},
		{"memory_search", `{"query": "hotel", "until": "soon"}`, `until is "soon"`},
	} {
		check.ErrorContains(t, test.arguments, check.ErrorOf(storetest.Call(tools, test.tool, test.arguments)), test.want)
	}
}

// A file that is imported later may hold earlier messages.
func TestRecallSinceInAnyOrder(t *testing.T) {
	c := talked(t, append([]store.Inbound{spoken(1, 90, "Ann", "the ferry is late")}, filling(2, 30, 1)...)...)
	check.Len(t, "found", recallAll(t, c, memory.Question{Text: "ferry", Limit: 5, Since: storetest.Day.Add(80 * time.Hour)}), 1)
}

func TestRecallWhereSomebodyLives(t *testing.T) {
	c := talked(t, spoken(1, 0, "Ann", "Ben lives in Lisbon"), spoken(2, 1, "Bob", "the soup is salty"))
	for _, question := range []string{"where does Ben live now?", "Ben lived where?", "his life in Lisbon"} {
		check.EqualAll(t, question, seqsFound(t, c, memory.Question{Text: question, Limit: 1}), []int64{1})
	}
}
