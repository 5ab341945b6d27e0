package summarize

import (
	"cairn/chat"
	"cairn/internal/facts"
	"cairn/llm"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestDbg(t *testing.T) {
	for _, q := range strings.Split(os.Getenv("Q"), "|") {
		lang, want, _ := strings.Cut(q, ":")
		raw, _ := os.ReadFile("../../bench/testdata/judge/lines/" + lang + ".json")
		var set struct {
			Spans []struct {
				Messages []struct {
					Seq          int64
					Time         time.Time
					Author, Text string
					Role         llm.Role
				}
				Agent, Before string
				Lines         []struct {
					Text  string
					True  bool
					Class string
				}
			}
		}
		if err := json.Unmarshal(raw, &set); err != nil {
			t.Fatal(err)
		}
		for _, sp := range set.Spans {
			for _, l := range sp.Lines {
				if !strings.Contains(l.Text, want) {
					continue
				}
				var ms []chat.Message
				for _, m := range sp.Messages {
					ms = append(ms, chat.Message{Seq: m.Seq, Turn: m.Seq, Time: m.Time, Author: m.Author, AuthorID: m.Author, Role: m.Role, Text: m.Text})
				}
				e := JudgeOf(ItemsOf(ms, 3000)).With(sp.Before, sp.Agent).evidence()
				c := e.claimOf(l.Text, -1, facts.Languages(l.Text))
				fmt.Printf("%s\n langs %v line %v foreign %v\n numbers %v\n dates %v\n people %v unknown %v keys %v\n", l.Text, e.languages, facts.Languages(l.Text), c.foreign, c.facts.Numbers, c.facts.Dates, c.people, c.unknown, c.keys)
				cited, _ := e.resolve(c)
				for _, i := range cited {
					p := e.read(i)
					fmt.Println("  cited", p.seqs, p.text, "\n   ", p.facts.Numbers, p.facts.Dates, p.named, "overlap", e.overlap(c, i), "tells", e.tells(c, i))
				}
				fmt.Println(" covers", e.covers(c, cited), "verdict", e.judge(c))
			}
		}
	}
}
