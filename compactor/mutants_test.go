package compactor_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
)

// mutant is a seeded bug: old is replaced by broken in file. caught is the property test that must
// fail then, among the named tests.
type mutant struct {
	file, old, broken string
	room, caught      string
}

var mutants = map[string]mutant{
	"messages leave the view before their summary exists": {
		"compactor/run.go", `
	c.report(j.row, EventStarted, j.window)
`, `
	c.report(j.row, EventStarted, j.window)
	c.h.setLines(slices.DeleteFunc(slices.Clone(c.h.lines), func(l line) bool { return j.row.Kind == Leaf && j.row.Covers(l.Seq) }))
`, "./compactor", "TestInvariants",
	},
	"applying does not look again at what stands there": {
		"transcript/cover.go", `
	below := slices.Clone(d.covering(row.Span))
`, `
	var below []Summary
`, "./store", "TestCoverage",
	},
	"a cut ignores that calls and results belong together": {
		"compactor/plan.go", `
		for n < end && s.lines[n].Turn == turn {
`, `
		for cut := n + 1; n < cut && s.lines[n].Turn == turn; {
`, "./compactor", "TestInvariants",
	},
	"a message is known by its text": {
		"store/inbox.go", `
	is, err := c.delivery(tx, m.ID)
`, `
	id := m.ID
	if err := tx.QueryRow("SELECT platform_id FROM messages WHERE conversation = ? AND role = 'user' AND text = ? LIMIT 1", c.id, m.Text).Scan(&id); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return r, err
	}
	is, err := c.delivery(tx, id)
`, "./store", "TestCoverage",
	},
	"a memory is saved when the worker says so, not with the summary": {
		"memory/job.go", `
	j.drafts = append(j.drafts, d)
	return s.answer(wrong, hint), nil
`, `
	err = j.conversation.Store().Update(ctx, func(tx *store.Tx) error {
		_, err := j.save(tx, d)
		return err
	})
	return s.answer(wrong, hint), err
`, "./store", "TestCoverage",
	},
	"a repair asks for no room": {
		"compactor/apply.go", `
	return c.estimated(int(0.95*p.EmergencyThreshold*float64(window)) - used)
`, `
	return c.estimated(window)
`, "./compactor", "TestRepairsStayBelowEmergency",
	},
	"what is prepared is bought again": {
		"compactor/job.go", `
	s = c.ahead() // prepared spans are not summarized again
`, `
`, "./compactor", "TestNoSpanIsSummarizedTwice",
	},
	"a rollup cannot take a placeholder in": {
		"transcript/cover.go", `
		read := child.Kind == Placeholder || slices.Contains(row.Children, child.ID)
`, `
		read := child.Kind != Placeholder && slices.Contains(row.Children, child.ID)
`, "./store", "TestCoverage",
	},
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+) \((\S+)\)`)

// TestMutants seeds bugs, and checks that the property tests find each: a test that cannot fail
// proves nothing. Only the compiler sees the broken files.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the tests once for each bug")
	}
	check.SkipUnderRace(t)
	t.Parallel()
	root, err := filepath.Abs("..")
	check.NoError(t, err)
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m.run(t, root)
		})
	}
}

func (m mutant) run(t *testing.T, root string) {
	source := filepath.Join(root, m.file)
	text, err := os.ReadFile(source)
	check.NoError(t, err)
	if n := strings.Count(string(text), m.old); n != 1 {
		t.Fatalf("%s has this %d times, want once: seed the bug anew\n%s", m.file, n, m.old)
	}
	dir := t.TempDir()
	broken, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{source: broken}})
	check.NoError(t, err)
	for file, content := range map[string]string{broken: strings.Replace(string(text), m.old, m.broken, 1), overlay: string(replace)} {
		check.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	}
	binary := filepath.Join(dir, "broken.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, m.room)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the bug does not compile: %v\n%s", err, out)
	}
	started := time.Now()
	tests := exec.CommandContext(t.Context(), binary, "-test.run", "^"+m.caught+"$", "-test.timeout", "3m",
		"-rapid.checks", "1000", "-rapid.nofailfile", "-rapid.shrinktime", "1ms")
	tests.Dir = filepath.Join(root, m.room)
	out, err := tests.CombinedOutput()
	caught := failed.FindSubmatch(out)
	if err == nil || caught == nil {
		t.Fatalf("no test found the bug in %v: %v\n%s", time.Since(started).Round(time.Millisecond), err, out)
	}
	t.Logf("%s noticed after %s: %s", caught[1], caught[2], first(string(out)))
}

var reason = regexp.MustCompile(`\[rapid\] (?:failed after|flaky|panic).*`)

// first returns the first line of a property test's failure.
func first(out string) string {
	line := reason.FindString(out)
	return line[:min(len(line), 200)]
}
