package compactor

import (
	"os"
	"strings"
	"testing"
)

// TestWhatLasts holds what is remembered without a model against invented sentences that
// people marked: what lasts, and chatter.
func TestWhatLasts(t *testing.T) {
	marked, err := os.ReadFile("testdata/lasting.txt")
	if err != nil {
		t.Fatal(err)
	}
	var kept, right, lasting int
	for line := range strings.Lines(string(marked)) {
		mark, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if mark == "#" {
			continue
		}
		remembered := len(Extract(said("Ines: "+text), 100, 20, "").Memories) > 0
		if mark == "+" {
			lasting++
		}
		if remembered {
			kept++
			if mark == "+" {
				right++
			}
		}
		if remembered != (mark == "+") {
			t.Logf("%s %s", mark, text)
		}
	}
	precision, recall := float64(right)/float64(kept), float64(right)/float64(lasting)
	t.Logf("%d remembered, %.1f %% of them last; of what lasts %.1f %% are remembered", kept, 100*precision, 100*recall)
	if precision < 0.93 || recall < 0.90 {
		t.Errorf("precision %.3f, must 0.93; recall %.3f, must 0.90", precision, recall)
	}
}

// Where no blank parts the words, somebody's own words and numbers are found all the same.
func TestWhatLastsWithoutBlanks(t *testing.T) {
	for text, want := range map[string]bool{
		"私は犬を預けないといけない":    true,
		"旅館は一人12000円、夕食つき": true,
		"我在波尔图开了一家面包店":     true,
		"本当に？助かる！":         false,
		"今天天气很好啊":          false,
	} {
		if got := len(Extract(said("Ines: "+text), 100, 20, "").Memories) > 0; got != want {
			t.Errorf("%s: remembered %v", text, got)
		}
	}
}
