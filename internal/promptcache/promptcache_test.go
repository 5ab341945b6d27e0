package promptcache_test

import (
	"fmt"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/promptcache"
	"cairn/llm"
)

// Requests that share their array cost what was added, and the same as if each was read whole.
func TestWhatIsAppendedCostsTheSame(t *testing.T) {
	for _, kind := range promptcache.Kinds {
		rule := promptcache.Rule{Kind: kind, TTL: 5 * time.Minute}
		whole, appended := promptcache.New(rule), promptcache.New(rule)
		appended.Appends = true
		now := time.Unix(1_000_000, 0)
		messages := []llm.Message{{Role: llm.RoleSystem, Text: "be kind"}}
		for i := range 40 {
			if i%13 == 12 { // a new head
				messages = []llm.Message{{Role: llm.RoleSystem, Text: "be kind"}, {Role: llm.RoleUser, Text: fmt.Sprint("summary ", i)}}
			}
			messages = append(messages, llm.Message{Role: llm.RoleUser, Text: fmt.Sprint("question ", i)})
			now = now.Add(time.Duration(i%4) * 2 * time.Minute)
			req := llm.Request{Messages: messages, Head: 1, Tools: []llm.Tool{{Name: "look"}}}
			check.Equal(t, fmt.Sprintf("%s, request %d", kind, i), appended.Price(req, now, true), whole.Price(req, now, true))
			messages = append(messages, llm.Message{Role: llm.RoleAssistant, Text: fmt.Sprint("answer ", i)})
		}
	}
}
