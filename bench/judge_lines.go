package main

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/llm"
)

// Lines of summaries, true and false, in several languages: a file for each language.
//
//go:embed testdata/judge/lines
var lineFiles embed.FS

// lineSet is a file of spans with lines about them.
type lineSet struct {
	Language string     `json:"language"`
	Spans    []lineSpan `json:"spans"`
}

type lineSpan struct {
	Messages []struct {
		Seq    int64     `json:"seq"`
		Time   time.Time `json:"time"`
		Author string    `json:"author"`
		Role   llm.Role  `json:"role"`
		Text   string    `json:"text"`
	} `json:"messages"`
	Agent  string `json:"agent"`
	Before string `json:"before"` // the summary before the span
	Lines  []struct {
		Text  string `json:"text"`
		True  bool   `json:"true"`
		Class string `json:"class"` // the kind of line, or what is false about it
	} `json:"lines"`
}

// lineVerdicts are the results for the lines of one class or language. A false line is caught if it is dropped, marked as without
// evidence, or, with a false citation, no longer rests on any message that it cites.
type lineVerdicts struct {
	Of      string `json:"of"`
	True    bool   `json:"true"`
	Lines   int    `json:"lines"`
	Dropped int    `json:"dropped"`
	Marked  int    `json:"marked"`
	Moved   int    `json:"moved"` // rest on other messages than they cite
	Kept    int    `json:"kept"`
	Example string `json:"example,omitempty"` // a true line that was dropped, or a false one that was kept
}

// contradicted are the classes of lines that messages contradict.
var contradicted = []string{"number", "amount", "date", "speaker", "citation"}

// readLineSets reads the files of paths, which may be folders; without any, those that ship with the benchmark.
func readLineSets(paths []string) (sets []lineSet, err error) {
	files := fs.FS(lineFiles)
	names := []string{}
	if len(paths) == 0 {
		names, err = fs.Glob(lineFiles, "testdata/judge/lines/*.json")
		if err != nil {
			return nil, err
		}
	} else {
		files = os.DirFS("/")
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				path = filepath.Join(path, "*.json")
			}
			found, err := filepath.Glob(path)
			if err != nil || len(found) == 0 {
				return nil, fmt.Errorf("read lines: no file %s", path)
			}
			for _, name := range found {
				name, err = filepath.Abs(name)
				if err != nil {
					return nil, err
				}
				names = append(names, strings.TrimPrefix(filepath.ToSlash(name), "/"))
			}
		}
	}
	for _, name := range names {
		var set lineSet
		text, err := fs.ReadFile(files, name)
		if err == nil {
			err = json.Unmarshal(text, &set)
		}
		if err != nil {
			return nil, fmt.Errorf("read lines of %s: %w", name, err)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// judgeLines judges each line alone, as a summary of its span.
func (v *verdicts) judgeLines(sets []lineSet) {
	for _, set := range sets {
		for _, span := range set.Spans {
			j := judge.Of(summarize.ItemsOf(span.messages(), summarize.MaxMessage)).With(span.Before, span.Agent)
			for _, line := range span.Lines {
				checked := j.Check(line.Text)
				for _, of := range []*lineVerdicts{lineVerdictsOf(&v.LineClasses, line.Class, line.True), lineVerdictsOf(&v.LineLanguages, set.Language, line.True)} {
					of.add(line.Text, checked)
				}
			}
		}
	}
	wrong, trueLines := sum(v.LineClasses, func(of lineVerdicts) (int, int, bool) { return of.Dropped, of.Lines, of.True })
	marked, _ := sum(v.LineClasses, func(of lineVerdicts) (int, int, bool) { return of.Marked, of.Lines, of.True })
	caught, falseLines := sum(v.LineClasses, func(of lineVerdicts) (int, int, bool) {
		n := of.Dropped + of.Marked
		if of.Of == "citation" {
			n += of.Moved
		}
		return n, of.Lines, !of.True && slices.Contains(contradicted, of.Of)
	})
	v.TrueLinesMarked = percent(marked, trueLines)
	v.Targets = append(v.Targets,
		atMost("true lines dropped, percent", percent(wrong, trueLines), 1),
		atLeast("contradicted lines caught, percent", percent(caught, falseLines), 95),
	)
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

// sum adds up what of returns for each, where its last result is true.
func sum(all []lineVerdicts, of func(lineVerdicts) (n, lines int, counts bool)) (n, lines int) {
	for _, one := range all {
		if some, total, counts := of(one); counts {
			n = n + some
			lines = lines + total
		}
	}
	return n, lines
}

func lineVerdictsOf(all *[]lineVerdicts, of string, isTrue bool) *lineVerdicts {
	at := slices.IndexFunc(*all, func(v lineVerdicts) bool { return v.Of == of && v.True == isTrue })
	if at < 0 {
		*all = append(*all, lineVerdicts{Of: of, True: isTrue})
		slices.SortStableFunc(*all, func(a, b lineVerdicts) int {
			if a.True != b.True {
				return map[bool]int{true: -1, false: 1}[a.True]
			}
			return cmp.Compare(a.Of, b.Of)
		})
		at = slices.IndexFunc(*all, func(v lineVerdicts) bool { return v.Of == of && v.True == isTrue })
	}
	return &(*all)[at]
}

func (of *lineVerdicts) add(text string, checked judge.Checked) {
	of.Lines++
	switch {
	case len(checked.Wrong) > 0:
		of.Dropped++
		if of.True {
			of.Example = fmt.Sprint(checked.Wrong)
		}
	case len(checked.Lines) > 0 && !checked.Lines[0].HasEvidence():
		of.Marked++
	case len(checked.Lines) > 0 && strings.Contains(text, "#") && !slices.ContainsFunc(checked.Lines[0].Seqs, func(seq int64) bool { return strings.Contains(text, fmt.Sprintf("#%d", seq)) }):
		of.Moved++
	default:
		of.Kept++
		if !of.True {
			of.Example = text
		}
	}
}

func (s lineSpan) messages() (all []chat.Message) {
	for _, m := range s.Messages {
		all = append(all, chat.Message{Seq: m.Seq, Turn: m.Seq, Time: m.Time, Author: m.Author, AuthorID: m.Author, Role: m.Role, Text: m.Text})
	}
	return all
}
