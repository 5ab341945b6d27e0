package compactor_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

var pasted = regexp.MustCompile(`paste-(\d+) `)

// TestLongMessageIsReadInParts: the middle of a long paste is in some request, in order, and the
// notes of all parts are in the summary.
func TestLongMessageIsReadInParts(t *testing.T) {
	check.SkipUnderRace(t)
	for _, window := range []int{6000, 16_000, 100_000} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			var read []string
			worker := &llmtest.Model{Tokens: window, Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
				material, _, _ := strings.Cut(req.Messages[1].Text, "</transcript>")
				_, material, _ = strings.Cut(material, "<transcript>")
				if strings.Contains(material, "<summary ") { // what was made of the parts
					return summary("All of them: " + strings.Join(pasted.FindAllString(material, -1), "")), nil
				}
				found := pasted.FindAllString(material, -1)
				read = append(read, found...)
				if len(found) == 0 {
					return summary("Ada took notes."), nil
				}
				return summary("Ada pasted " + found[0] + "and more."), nil
			}}
			r := newRig(t, 200_000, worker)
			var text strings.Builder
			for i := range 500 {
				fmt.Fprintf(&text, "paste-%d is a line of a long log that Ada pasted here\n", i)
			}
			r.deliverNotes(text.String())
			r.chat(20)
			if e := r.compact(""); e.State != compactor.EventApplied || !strings.Contains(e.Summary, "paste-0 ") {
				t.Fatalf("got %+v", e)
			}
			check.Len(t, "lines read", read, 500)
			for i, line := range read {
				check.Require(t, line == fmt.Sprintf("paste-%d ", i), "line %d: got %s", i, line)
			}
			r.verify()
		})
	}
}
