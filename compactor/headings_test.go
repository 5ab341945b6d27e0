package compactor

import (
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/llm"
)

const structured = "## Goals\n- Ada wants to sail to Lisbon in May 2026 (#3).\n## Decisions\n" +
	"- Ada and Bob buy the boat Mulligan for 12,000 EUR (#4, #9).\n**Open questions:**\n* Who feeds the cat? (#20)"

func TestExtractiveRollupHasNoEmptyHeadings(t *testing.T) {
	written := summarize.WrittenOf(Compaction{Text: structured, FromTime: time.Date(2026, 5, 8, 9, 0, 0, 0, time.UTC)})
	got := summarize.Extract([]chat.Message{written}, 200, 0, "").Text
	for _, want := range []string{"sail to Lisbon", "12,000 EUR (#4, #9)", "cat? (#20)"} {
		check.Contains(t, "summary", got, want)
	}
	if strings.ContainsAny(got, "*") || strings.Contains(got, "##") || strings.Contains(got, "- ") || strings.Contains(got, "Goals") {
		t.Errorf("got %s", got)
	}
	said := chat.Message{Seq: 3, Role: llm.RoleUser, Author: "Ada", Text: "Facts:\nI sold the boat Mulligan."}
	check.Contains(t, "summary", summarize.Extract([]chat.Message{said}, 200, 0, "").Text, "Facts")
}

// TestThreadShowsNoChannelSeqs: `expand` would follow them to other messages.
func TestThreadShowsNoChannelSeqs(t *testing.T) {
	row := Compaction{Kind: Leaf, Span: Span{From: 1, To: 20}, Text: structured}
	got := row.RenderInherited()
	check.Lacks(t, "view of the thread", got, "#4")
	check.Contains(t, "view of the thread", got, "12,000 EUR.")
	check.Contains(t, "view of the channel", row.Render(), "12,000 EUR (#4, #9).")
}

func TestChunkSummariesBecomeOne(t *testing.T) {
	got := summarize.JoinParts([]string{
		"## Decisions\n- Ada buys the boat (#3).\n## Open questions\n- Who pays? (#4)",
		"Bob joined.\n\n**Goals:**\n- Sail in May (#9).\n### decisions\n- Bob pays, see Decisions above (#8).\n",
		"They talked about facts: none.",
	})
	want := "Bob joined.\nThey talked about facts: none.\n## Goals\n- Sail in May (#9).\n## Decisions\n- Ada buys the boat (#3).\n- Bob pays, see Decisions above (#8).\n## Open questions\n- Who pays? (#4)"
	check.Equal(t, "result", got, want)
	check.Equal(t, "joined parts", summarize.JoinParts([]string{"One.", "Two."}), "One.\nTwo.")
}
