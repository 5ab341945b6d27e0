package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// arrows says which rooms of the house a room may import. They all run down.
var arrows = map[string][]string{
	"cmd/cairn":  {"config", "discord", "slack", "terminal", "channel", "compactor", "memory", "llm", "llm/openai", "llm/anthropic", "llm/prices", "prompts", "internal/secrets"},
	"config":     {"channel", "compactor", "llm", "llm/prices"},
	"bench":      {"discord", "slack", "terminal", "channel", "compactor", "memory", "llm", "llm/openai", "llm/anthropic", "llm/llmtest", "prompts", "words"},
	"discord":    {"channel", "internal/platform"},
	"slack":      {"channel", "internal/platform"},
	"terminal":   {"channel"},
	"channel":    {"compactor", "memory", "llm", "llm/prices", "prompts", "internal/secrets"},
	"memory":     {"memory/search", "compactor", "transcript", "llm", "words", "internal/secrets"},
	"compactor":  {"transcript", "llm", "prompts", "words", "internal/secrets"},
	"transcript": {},
	"llm":        {"words"},
	"llm/openai": {"llm", "llm/internal/provider"},

	"memory/search":         {"words"},
	"llm/anthropic":         {"llm", "llm/internal/provider"},
	"llm/internal/provider": {"llm"},

	"llm/llmtest": {"llm"},
	"llm/prices":  {},
	"prompts":     {},

	"discord/discordtest": {}, // doubles of the platforms know nothing of this house
	"slack/slacktest":     {},
	"internal/platform":   {},
	"internal/secrets":    {},
	"words":               {},
	"words/wordstest":     {},
}

func TestLayout(t *testing.T) {
	root := os.DirFS("../..")
	rooms := map[string]bool{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		room := path.Dir(name)
		allowed, known := arrows[room]
		if !known {
			t.Errorf("%s lies in a room that is not in the plan", name)
			return nil
		}
		rooms[room] = true
		if strings.HasSuffix(name, "_test.go") { // tests may look at the whole house
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", name), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if other, ours := strings.CutPrefix(imported, "cairn/"); ours && !slices.Contains(allowed, other) {
				t.Errorf("%s imports %s, which is against the plan", name, other)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range arrows {
		if !rooms[room] {
			t.Errorf("the plan shows a room %s that is not there", room)
		}
	}
}

// TestPlanIsShown holds ARCHITECTURE.md's table of imports against the plan.
func TestPlanIsShown(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	shown := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] == "imports →" {
			columns = cells
			continue
		}
		if _, room := arrows[cells[0]]; !room || len(cells) != len(columns) {
			continue
		}
		shown[cells[0]] = nil
		for i, mark := range cells[1:] {
			if mark != "" {
				shown[cells[0]] = append(shown[cells[0]], columns[i+1])
			}
		}
	}
	for room, allowed := range arrows {
		if room == "llm/llmtest" { // only tests meet it
			continue
		}
		got, there := shown[room]
		want := slices.DeleteFunc(slices.Clone(allowed), func(r string) bool { return r == "llm/llmtest" })
		slices.Sort(got)
		slices.Sort(want)
		if !there || !slices.Equal(got, want) {
			t.Errorf("ARCHITECTURE.md shows that %s imports %q, the plan says %q", room, got, want)
		}
	}
}
