package memory

import (
	"testing"

	"cairn/chat"
	"cairn/testkit/wordstest"
)

// FuzzEvidence: no text breaks the comparison, and a text says what it says.
func FuzzEvidence(f *testing.F) {
	for _, text := range append(wordstest.Texts(), "5k, 1,200.50 and 12 # 3", "#12 １２", "x") {
		f.Add(text, "Ann lives in Bergen since 2019")
	}
	f.Fuzz(func(t *testing.T, content, text string) {
		content = content[:min(len(content), maxContent)]
		claimOf(content, []string{"Ann", text}).isIn(text)
		strangeNumber(content, text, text, []chat.Message{{}})
		isNamed(content, text)
		if !claimOf(content, nil).isIn(content) && len(claimOf(content, nil).heavy) > 0 {
			t.Errorf("%q is not in itself", content)
		}
		if n := strangeNumber(content, content, content, nil); n != "" {
			t.Errorf("%q has other numbers than itself: %s", content, n)
		}
	})
}
