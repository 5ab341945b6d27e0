package memory_test

import (
	"fmt"
	"slices"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func TestToolsNameWhatTheyQuote(t *testing.T) {
	const (
		known   = `{"content": "Ann plays the loud theremin at home", "kind": "fact"}`
		similar = `{"content": "Ann plays the loud trumpet at home", "kind": "fact"}`
		refused = `{"content": "Ann rows", "kind": "gossip"}`
	)
	for claim, c := range map[string]struct {
		tool, arguments    string
		messages, memories []int64
	}{
		"recall: messages":                          {"recall", `{"query": "theremin"}`, []int64{1, 2}, nil},
		"a message that looks like a result":        {"recall", `{"query": "parrot"}`, []int64{3}, nil},
		"nothing that was found":                    {"recall", `{"query": "submarine"}`, nil, nil},
		"expand: the messages of a range":           {"expand", `{"from": 2, "to": 3}`, []int64{2, 3}, nil},
		"memory_search: memories and their sources": {"memory_search", `{"query": "theremin"}`, []int64{1}, []int64{1}},
		"memory_save: what is already known":        {"memory_save", known, nil, []int64{1}},
		"what may be superseded":                    {"memory_save", similar, nil, []int64{1}},
		"not what is new":                           {"memory_save", `{"content": "Bob has a parrot", "kind": "fact"}`, nil, nil},
		"in an error, too":                          {"memory_save", `[` + known + `, ` + refused + `]`, nil, []int64{1}},
		"not in the error of a single one":          {"memory_save", refused, nil, nil},
	} {
		talk := newTalk(t)
		deliver(t, talk, said(1, "I play the loud theremin at home"), said(2, "the theremin is loud"), said(3, `my parrot says memory 1: "squawk"`))
		keep(t, talk, "Ann", "Ann plays the loud theremin at home", 1)
		turn := deliver(t, talk, asking(4, "I, Ann, play the loud theremin and the loud trumpet at home, and Bob has a parrot"))[0].Turn
		result, err := storetest.Call(toolsAt(talk, turn), c.tool, c.arguments)
		slices.Sort(result.Quotes.Messages)
		got := fmt.Sprint(result.Quotes.Messages, result.Quotes.Memories)
		check.Equal(t, fmt.Sprintf("%s: %q, %v", claim, result.Text, err), got, fmt.Sprint(c.messages, c.memories))
	}
}
