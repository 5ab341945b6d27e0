package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/testkit/check"
)

func TestCompactAtTokensMustHold(t *testing.T) {
	for name, c := range map[string]struct{ file, problem, warning string }{
		"room for everything":                  {"[defaults.compaction]\ncompact_at_tokens = 20000\n", "", ""},
		"no room for pins and summaries":       {"[defaults.compaction]\ncompact_at_tokens = 3000\n", "", "line 2: compact_at_tokens = 3000: a conversation with many pins"},
		"no room for a reply and messages":     {"[defaults.compaction]\ncompact_at_tokens = 2000\n", "line 2: compact_at_tokens = 2000: must be 0 (off) or more than what compaction never removes", ""},
		"of one agent":                         {"[[agents]]\nid = \"a\"\n[agents.compaction]\ncompact_at_tokens = 2000\n", "line 4: compact_at_tokens = 2000", ""},
		"long instructions":                    {"[defaults.compaction]\ncompact_at_tokens = 20000\n[[agents]]\nid = \"a\"\ninstructions = \"" + strings.Repeat("Answer like a gardener. ", 3000) + "\"\n", "line 2: compact_at_tokens = 20000: must be", ""},
		"a smaller window, which limits alone": {"[[agents]]\nid = \"a\"\ncontext_window = 2400\n[agents.compaction]\ncompact_at_tokens = 2000\n", "", ""},
		"compaction is off":                    {"[defaults.compaction]\nenabled = false\ncompact_at_tokens = 2000\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Load(writeSettings(t, c.file))
			var wrong *Error
			problems := ""
			if errors.As(err, &wrong) {
				for _, p := range wrong.Problems {
					problems += fmt.Sprintf("line %d: %s\n", p.Line, p.Text)
				}
			}
			warnings := ""
			for _, w := range s.Warnings {
				warnings += fmt.Sprintf("line %d: %s\n", w.Line, w.Text)
			}
			check.That(t, strings.HasPrefix(problems, c.problem) && (c.problem != "" || problems == ""), "got problems %q, want %q", problems, c.problem)
			check.That(t, strings.HasPrefix(warnings, c.warning) && (c.warning != "" || warnings == ""), "got warnings %q, want %q", warnings, c.warning)
		})
	}
}
