package compactor_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/testkit/check"
)

// mutant is a seeded bug: old is replaced by broken in file, where OLD is old and BUG is whether the
// process is to have this bug. caught is the property test of the package room that must fail then.
type mutant struct {
	file, old, broken string
	room, caught      string
}

var mutants = map[string]mutant{
	"messages leave the view before their summary exists": {"compactor/run.go", `
	pl := c.planner(j.policy)
`, `
	if BUG {
		if j.row.Kind == Leaf {
			c.view.Messages, _ = transcript.Uncovered(c.view.Messages, []Summary{j.row})
			c.view.MessageCost = transcript.CostOf(c.view.Messages)
		}
	}OLD`, "./compactor", "TestInvariants"},
	"applying does not look again at what stands there": {"transcript/cover.go", `
	below := slices.Clone(d.covering(row.Span))
`, `OLD	if BUG {
		below = nil
	}
`, "./transcript", "TestAnyHistory"},
	"budgets ignore compact_at_tokens": {"compactor/policy.go", `
	return min(window, int(float64(p.CompactAtTokens)/p.shares(window).BackgroundThreshold))
`, `
	if BUG {
		return window
	}OLD`, "./compactor", "TestCompactAtTokensScalesLevels"},
	"a cut ignores that calls and results belong together": {"compactor/plan.go", `
		for n < end && s.Messages[n].Turn == turn {
`, `
		for cut := n + 1; n < end && (!BUG || n < cut) && s.Messages[n].Turn == turn; {
`, "./compactor", "TestInvariants"},
	"a message is known by its text": {"store/inbox.go", `
	is := in.delivery(tx, m.ID)
`, `
	id := m.ID
	if BUG {
		tx.row("SELECT platform_id FROM messages WHERE conversation = ? AND role = 'user' AND text = ? LIMIT 1", in.c.id, m.Text).Found(&id)
	}
	is := in.delivery(tx, id)
`, "./store", "TestCoverage"},
	"a memory is saved when the worker says so, not with the summary": {"memory/job.go", `
	j.drafts = append(j.drafts, d)
	return s.answer(d.note), nil
`, `
	if BUG {
		err = j.conversation.Store().Update(ctx, func(tx *store.Tx) { j.save(tx, d) })
		return s.answer(d.note), err
	}OLD`, "./store", "TestCoverage"},
	"what a failed job saved is saved again": {"store/conversationmemories.go", `
	return exists(ms.tx, wasRead, ms.c.id, compaction, seq, either, ms.c.rowID(seq))
`, `
	row := ms.c.rowID(seq)
	if BUG {
		row = 0
	}
	return exists(ms.tx, wasRead, ms.c.id, compaction, seq, either, row)
`, "./compactor", "TestMemoriesOutliveTheirSummary"},
	"a repair asks for no room": {"compactor/meter.go", `
	return m.estimated(int(0.95*p.EmergencyThreshold*float64(m.o.Window())) - used)
`, `
	if BUG {
		return m.estimated(m.o.Window())
	}OLD`, "./compactor", "TestRepairsStayBelowEmergency"},
	"what is prepared is bought again": {"compactor/planner.go", `
	s = pl.ahead() // prepared spans are not summarized again
`, `
	if !BUG {
		s = pl.ahead()
	}
`, "./compactor", "TestNoSpanIsSummarizedTwice"},
	"what people wrote is lost in a fold": {"transcript/cover.go", `
	sum = sum.Keeping(below...)
`, `
	if !BUG {
		sum = sum.Keeping(below...)
	}
`, "./transcript", "TestAnyHistory"},
	"what people removed comes back in a fold": {"transcript/cover.go", `
	return sum.Dropping(Removed(below...)...)
`, `
	if BUG {
		return sum
	}OLD`, "./transcript", "TestAnyHistory"},
	"a job reads the text before it was rewritten": {"transcript/rewrite.go", `
		if job.Overlaps(row.Span) {
`, `
		if job.Overlaps(row.Span) && !BUG {
`, "./store", "TestCoverage"},
	"a view overwrites what another one shows": {"transcript/view.go", `
	if n < cap(list) && isSet(list[:n+1][n]) {
`, `
	if n < cap(list) && isSet(list[:n+1][n]) && !BUG {
`, "./transcript", "TestRenderingIsPure"},
	"what is stored is not counted in the session": {"transcript/head.go", `
	after.InSession += len(messages)
`, `
	if !BUG {
		after.InSession += len(messages)
	}
`, "./compactor", "TestInvariants"},
	"a rollup cannot take a placeholder in": {"transcript/cover.go", `
		read := child.Kind == Placeholder || slices.Contains(row.Children, child.ID)
`, `
		read := child.Kind == Placeholder && !BUG || child.Kind != Placeholder && slices.Contains(row.Children, child.ID)
`, "./transcript", "TestAnyHistory"},
}

const bugEnv = "CAIRN_TEST_BUG"

// TestMutants seeds bugs, and checks that the property tests find each: a test that cannot fail
// proves nothing. Only the compiler sees the broken files. All bugs are in the same three binaries,
// since linking one for each took longer than all searches; a process has one of them.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the tests anew")
	}
	slow(t)
	root := check.Must(filepath.Abs(".."))(t)
	dir := t.TempDir()
	buildMutants(t, root, dir)
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m.run(t, root, name, filepath.Join(dir, filepath.Base(m.room)+".test"))
		})
	}
}

// buildMutants builds the tests of the mutants' packages, with all bugs, into dir.
func buildMutants(t *testing.T, root, dir string) {
	t.Helper()
	broken := map[string]string{}
	rooms := map[string]bool{}
	for name, m := range mutants {
		source := filepath.Join(root, m.file)
		original := string(check.Must(os.ReadFile(source))(t))
		n := strings.Count(original, m.old)
		check.Require(t, n == 1, "%s: %s has this %d times, want once: seed the bug anew\n%s", name, m.file, n, m.old)
		bug := fmt.Sprintf("(seededBug == %q)", name)
		text := cmp.Or(broken[source], original)
		broken[source] = strings.Replace(text, m.old, strings.NewReplacer("BUG", bug, "OLD", m.old).Replace(m.broken), 1)
		folder := filepath.Dir(source)
		broken[filepath.Join(folder, "seeded_bug.go")] = fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar seededBug = os.Getenv(%q)\n", filepath.Base(folder), bugEnv)
		rooms[m.room] = true
	}
	replace := map[string]string{}
	for source, text := range broken {
		replace[source] = filepath.Join(dir, fmt.Sprint(len(replace), ".go"))
		check.NoError(t, os.WriteFile(replace[source], []byte(text), 0o600))
	}
	overlay := filepath.Join(dir, "overlay.json")
	check.NoError(t, os.WriteFile(overlay, check.Must(json.Marshal(map[string]any{"Replace": replace}))(t), 0o600))
	arguments := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", dir + string(filepath.Separator)}
	build := exec.CommandContext(t.Context(), "go", slices.AppendSeq(arguments, maps.Keys(rooms))...)
	build.Dir, build.Env = root, append(os.Environ(), "GOGC=400")
	out, err := build.CombinedOutput()
	check.Require(t, err == nil, "the bugs do not compile: %v\n%s", err, out)
}

func (m mutant) run(t *testing.T, root, name, binary string) {
	tests := exec.CommandContext(t.Context(), binary, "-test.run", "^"+m.caught+"$", "-test.timeout", "3m",
		"-rapid.checks", "4000", "-rapid.nofailfile", "-rapid.shrinktime", "1ms")
	tests.Dir = filepath.Join(root, m.room)
	tests.Env = append(os.Environ(), bugEnv+"="+name)
	out, err := tests.CombinedOutput()
	found := err != nil && regexp.MustCompile("(?m)^--- FAIL: "+m.caught+" ").Match(out)
	check.Require(t, found, "no test found the bug: %v\n%s", err, out)
	t.Logf("%s", reason.Find(out))
}

var reason = regexp.MustCompile(`\[rapid\] (?:failed after|flaky|panic).{0,150}`)
