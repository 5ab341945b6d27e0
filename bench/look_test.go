package main

import (
	"cairn/compactor/summarize"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestLook(t *testing.T) {
	var paths []string
	if p := os.Getenv("LINES"); p != "" {
		paths = strings.Fields(p)
	}
	sets, err := readLineSets(paths)
	if err != nil {
		t.Fatal(err)
	}
	only := os.Getenv("ONLY")
	var n, drop, mark, fn, caught, dropped int
	for _, set := range sets {
		for _, span := range set.Spans {
			judge := summarize.JudgeOf(summarize.ItemsOf(span.messages(), summarize.MostOfMessage)).With(span.Before, span.Agent)
			for _, line := range span.Lines {
				c := judge.Check(line.Text)
				what := "KEPT"
				if len(c.Wrong) > 0 {
					what = "DROP " + strings.Join(c.Wrong, ";")
					if i := strings.LastIndex(what, `": `); i > 0 {
						what = "DROP" + what[i+1:]
					}
				} else if len(c.Lines) == 0 {
					what = "KEPT before"
				} else if !c.Lines[0].HasEvidence() {
					what = "MARK"
				} else {
					what = fmt.Sprint("KEPT ", c.Lines[0].Seqs)
					ok := false
					for _, s := range c.Lines[0].Seqs {
						ok = ok || strings.Contains(line.Text, fmt.Sprintf("#%d", s))
					}
					if !ok && strings.Contains(line.Text, "#") {
						what = "MOVE" + what[4:]
					}
				}
				if line.True {
					n++
					if strings.HasPrefix(what, "DROP") {
						drop++
					}
					if what == "MARK" {
						mark++
					}
				} else {
					switch line.Class {
					case "number", "amount", "date", "speaker", "citation":
						fn++
						if strings.HasPrefix(what, "DROP") {
							dropped++
						}
						if !strings.HasPrefix(what, "KEPT") && !(strings.HasPrefix(what, "MOVE") && line.Class != "citation") {
							caught++
						}
					}
				}
				bad := line.True && !strings.HasPrefix(what, "KEPT") || !line.True && !strings.HasPrefix(what, "DROP")
				if (only == "all" || bad) && (os.Getenv("T") == "" || line.True || strings.HasPrefix(what, "KEPT") && line.Class != "invented_fact" && line.Class != "invented_request" && line.Class != "name" || os.Getenv("T") == "2" && what == "MARK" && line.Class != "invented_fact" && line.Class != "invented_request" && line.Class != "name") {
					fmt.Println(set.Language, line.True, line.Class, "|", line.Text, "|", what)
					if os.Getenv("MSG") != "" {
						for _, m := range span.messages() {
							if strings.Contains(line.Text, fmt.Sprintf("#%d", m.Seq)) {
								fmt.Println("      ", m.Seq, m.Time.Format("Mon 2006-01-02 15:04"), m.Author, ":", m.Text)
							}
						}
					}
				}
			}
		}
	}
	fmt.Println("true", n, "dropped", drop, "marked", mark, "| contradicted", fn, "caught", caught, "dropped", dropped)
}
