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

var pasted = regexp.MustCompile(`paste-\d+ `)

// TestLongMessageIsReadInParts: the middle of a long paste is in some request, in order, and the
// notes of all parts are in the summary.
func TestLongMessageIsReadInParts(t *testing.T) {
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "paste-%d is a line of a long log that Ada pasted here\n", i)
	}
	for _, window := range []int{6000, 100_000} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			var read []string
			r := newRig(t, 200_000, &llmtest.Model{Tokens: window, Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
				material := materialIn(req)
				found := pasted.FindAllString(material, -1)
				switch {
				case strings.Contains(material, "<summary "): // what was made of the parts
					return summary("All of them: " + strings.Join(found, "")), nil
				case len(found) == 0:
					return summary("Ada took notes."), nil
				}
				read = append(read, found...)
				return summary("Ada pasted " + found[0] + "and more."), nil
			}})
			r.deliverNotes(text.String())
			r.chat(20)
			e := r.compact("")
			check.Equal(t, "outcome", e.State, compactor.EventApplied)
			check.Contains(t, "summary", e.Summary, "paste-0 ")
			check.Equal(t, "lines read", strings.Join(read, ""), strings.Join(pasted.FindAllString(text.String(), -1), ""))
			r.verify()
		})
	}
}
