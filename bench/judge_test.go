package main

import (
	"os"
	"path/filepath"
	"testing"

	"cairn/testkit/check"
)

// The lines that ship with the benchmark, in 12 languages: hardly a true one may be lost, and hardly a contradicted one kept.
func TestJudgeOfLines(t *testing.T) {
	check.SkipUnderRace(t)
	var v verdicts
	v.judgeLines(check.Must(readLineSets(nil))(t))
	check.Len(t, "targets", v.Targets, 2)
	for _, g := range v.Targets {
		check.That(t, g.Met, "%s: %.2f, must be %g", g.Name, g.Value, g.Must)
	}
	lines := 0
	for _, of := range v.LineClasses {
		lines += of.Lines
		check.Equal(t, "lines of "+of.Of, of.Dropped+of.Marked+of.Moved+of.Kept, of.Lines)
	}
	check.That(t, lines >= 500, "only %d lines", lines)
	check.That(t, v.TrueLinesMarked <= 2, "%.2f %% of the true lines are marked as without evidence", v.TrueLinesMarked)
}

func TestLinesOfOtherFiles(t *testing.T) {
	dir := t.TempDir()
	text := `{"language": "en", "spans": [{"messages": [{"seq": 7, "time": "2026-03-02T09:00:00Z", "author": "Ada", "role": "user", "text": "The hall costs 48 euros."}],
		"lines": [{"text": "- Ada says that the hall costs 84 euros (#7).", "true": false, "class": "amount"}, {"text": "- The hall costs 48 euros (#7).", "true": true, "class": "plain"}]}]}`
	check.NoError(t, os.WriteFile(filepath.Join(dir, "en.json"), []byte(text), 0o600))
	for name, path := range map[string]string{"a folder": dir, "a file": filepath.Join(dir, "en.json")} {
		t.Run(name, func(t *testing.T) {
			var v verdicts
			v.judgeLines(check.Must(readLineSets([]string{path}))(t))
			check.Equal(t, "false lines", v.LineClasses[1], lineVerdicts{Of: "amount", Lines: 1, Dropped: 1})
			check.Equal(t, "true lines", v.LineClasses[0], lineVerdicts{Of: "plain", True: true, Lines: 1, Kept: 1})
		})
	}
	_, err := readLineSets([]string{filepath.Join(dir, "none.json")})
	check.That(t, err != nil, "a file that does not exist is an error")
}
