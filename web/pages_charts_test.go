package web

import (
	"testing"

	"cairn/internal/check"
	"cairn/store"
)

func TestMarkIsAtTheDropOfTheLine(t *testing.T) {
	h := historyAnswer{
		Used:        []usedPoint{{Seq: 1, Tokens: 100}, {Seq: 40, Tokens: 900}, {Seq: 40, Tokens: 300}},
		Compactions: []store.AppliedStep{{ListedCompaction: store.ListedCompaction{Next: 41}}},
	}
	p := panelOf("", conversationAnswer{}, h)
	check.Equal(t, "place of the mark", p.Marks[0].At, 40)
}
