package compactor_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"cairn/compactor"
	"cairn/compactor/worker"
	"cairn/testkit/check"
)

// another returns a value of a setting that differs from the default, and makes a valid policy.
func another(f reflect.StructField, key string) string {
	special := map[string]string{
		"background_threshold": "0.7", "aggressive_threshold": "0.9", "emergency_threshold": "0.97", "prepare_threshold": "0.5",
		"compact_at_tokens": "5000", "notify": "message", "stack_budget": "0.2", "worker_reasoning": "high",
		"tail_tokens": "700", "span_tokens": "700", "max_summary_tokens": "700", "strategy": worker.StrategyWindow,
	}
	flipped := map[string]string{"true": "false", "false": "true"}[compactor.DefaultPolicy().Value(key)]
	return cmp.Or(special[key], flipped, map[reflect.Kind]string{
		reflect.Int: "13", reflect.Float64: "0.4", reflect.String: "text", reflect.Int64: "7m0s", // of Duration and TTL
	}[f.Type.Kind()])
}

// A new field must have a key, and every layer, merge, copy and check must handle it.
func TestPatchCoversEveryPolicyField(t *testing.T) {
	policy := reflect.TypeFor[compactor.Policy]()
	n := len(compactor.Keys())
	check.Require(t, n == policy.NumField() && !slices.Contains(compactor.Keys(),
		""), "%d keys for %d fields: %q", n, policy.NumField(), compactor.Keys())
	free := []string{"enabled", "economy", "extract_memories", "model", "focus", "prompt_file"} // any value will do
	for i, key := range compactor.Keys() {
		t.Run(key, func(t *testing.T) {
			f := policy.Field(i)
			check.Equal(t, "tag", f.Tag.Get("toml"), key)
			usual := compactor.DefaultPolicy()
			value := another(f, key)
			patch := compactor.Patch{key: value}
			got, wrong := patch.Over(usual)
			check.That(t, len(wrong) == 0 && got.Value(key) == value, "a patch makes %q of %q, %v", value, got.Value(key), wrong)
			for other := range policy.NumField() {
				same := reflect.ValueOf(got).Field(other).Interface() == reflect.ValueOf(usual).Field(other).Interface()
				check.That(t, same == (other != i), "after a patch of %s, %s is the same: %v", key, policy.Field(other).Name, same)
			}
			check.Equal(t, "the base was changed", usual, compactor.DefaultPolicy())
			check.That(t, maps.Equal(compactor.PatchOf(got, key), patch), "got patch %v", compactor.PatchOf(got, key))
			fitted, left := patch.Fit(usual)
			check.That(t, fitted == got && len(left) == 0, "got conflicts: %v", left)
			check.Equal(t, "merged", compactor.Merge(compactor.PatchOf(usual, compactor.Keys()...), patch, nil)[key], value)
			if slices.Contains(free, key) {
				return
			}
			impossible := map[reflect.Type]string{
				reflect.TypeFor[int](): "-1", reflect.TypeFor[float64](): "NaN", reflect.TypeFor[string](): "nonsense", reflect.TypeFor[compactor.Duration](): "-1s", reflect.TypeFor[compactor.TTL](): "-1s",
			}[f.Type]
			p, wrong := compactor.Patch{key: impossible}.Over(usual)
			check.Require(t, len(wrong) == 0, "%q cannot be read: %v", impossible, wrong)
			faults := p.Validate()
			check.That(t, len(faults) == 1 && faults[0].Key == key && faults[0].Want != "",
				"%s = %s: got no error of its own: %v", key, impossible, faults)
		})
	}
}

func TestInvalidPolicies(t *testing.T) {
	for _, key := range []string{"keep_first", "keep_first_turns"} { // so many are read
		for n, want := range map[int]int{compactor.MaxKeepFirst: 0, compactor.MaxKeepFirst + 1: 1} {
			_, wrong := compactor.Patch{key: fmt.Sprint(n)}.Fit(compactor.DefaultPolicy())
			check.Len(t, fmt.Sprint(key, " = ", n), wrong, want)
		}
	}
	for name, test := range map[string]struct {
		change func(*compactor.Policy)
		want   string // "": any range
	}{
		"percent":           {func(p *compactor.Policy) { p.BackgroundThreshold = 80 }, "background_threshold = 80: must be from 0.10 to 0.99 (a share of 1: write 0.80 for 80 %)"},
		"shares crossed":    {func(p *compactor.Policy) { p.EmergencyThreshold = 0.84 }, "background_threshold = 0.8: must be below aggressive_threshold (0.85), which must be below emergency_threshold (0.84)"},
		"below the least":   {func(p *compactor.Policy) { p.CompactAtTokens = 100 }, "compact_at_tokens = 100: must be 0 (off) or at least 2000"},
		"too few tokens":    {func(p *compactor.Policy) { p.EmergencyThreshold = -100 }, ""},
		"a part of a token": {func(p *compactor.Policy) { p.EmergencyThreshold = -1000.5 }, ""},
		"a negative share":  {func(p *compactor.Policy) { p.BackgroundThreshold = -0.8 }, ""},
		"far too many":      {func(p *compactor.Policy) { p.BackgroundThreshold = -2_000_000 }, ""},
		"in the wrong order": {func(p *compactor.Policy) {
			p.BackgroundThreshold = -10_000
			p.AggressiveThreshold = -20_000
		}, ""},
		"equal": {func(p *compactor.Policy) {
			p.AggressiveThreshold = -10_000
			p.EmergencyThreshold = -10_000
		}, ""},
		"shares, one apart": {func(p *compactor.Policy) {
			p.BackgroundThreshold = 0.9
			p.EmergencyThreshold = 0.8
			p.AggressiveThreshold = -5000
		}, ""},
	} {
		p := compactor.DefaultPolicy()
		test.change(&p)
		faults := p.Validate()
		check.Require(t, len(faults) == 1 && faults[0].Want != "", "%s: %v", name, faults)
		check.Equal(t, name, faults[0].Error(), cmp.Or(test.want, faults[0].Error()))
	}
}

func TestConflictingPatchValuesAreDropped(t *testing.T) {
	base := compactor.DefaultPolicy()
	base.BackgroundThreshold = 0.50
	base.AggressiveThreshold = 0.60
	two := compactor.Patch{"background_threshold": "0.9", "aggressive_threshold": "0.93"}
	for _, test := range []struct {
		name  string
		patch compactor.Patch
		left  string          // out, each with its reason
		want  compactor.Patch // what counts
	}{
		{"two that only go together", two, "", two},
		{
			"the one at odds, and no other",
			compactor.Patch{"background_threshold": "0.7", "keep_last_n": "9", "enabled": "false"},
			"background_threshold = 0.7: must be below aggressive_threshold (0.6), which must be below emergency_threshold (0.95)\n",
			compactor.Patch{"keep_last_n": "9", "enabled": "false"},
		},
		{
			"one that makes another's fault",
			compactor.Patch{"emergency_threshold": "0.55"},
			"emergency_threshold = 0.55: must be such that background_threshold is below aggressive_threshold (0.6), which must be below emergency_threshold (0.55)\n", nil,
		},
		{
			"each of several",
			compactor.Patch{"keep_first": "99", "pin_budget": "-4", "gone": "1", "keep_last_n": "0"},
			"gone: there is no such setting\nkeep_first = 99: must be from 0 to 20\npin_budget = -4: must be from 0 to 20000\n",
			compactor.Patch{"keep_last_n": "0"},
		},
	} {
		got, wrong := test.patch.Fit(base)
		left := ""
		for _, e := range wrong {
			left += e.Error() + "\n"
		}
		check.Equal(t, test.name+": left out", left, test.left)
		want, _ := test.want.Over(base)
		check.That(t, got == want && len(got.Validate()) == 0, "%s: got %+v", test.name, got)
	}
}

func TestSubAgentPatchLayers(t *testing.T) {
	definition := compactor.Patch{"background_threshold": "0.6", "keep_first": "5", "focus": "names", "enabled": "true"}
	parent := compactor.Patch{"background_threshold": "0.7", "keep_last_n": "0", "extract_memories": "false"}
	call := compactor.Patch{"keep_last_n": "7", "enabled": "false", "focus": ""}
	child := compactor.Spawn(parent, definition, call)
	second := compactor.Spawn(child, compactor.Patch{"keep_first": "9", "pin_budget": "50"}, compactor.Patch{"cooldown": "1m"})
	third := compactor.Spawn(second, compactor.Patch{"cooldown": "2m", "max_turns": "3"}, compactor.Patch{"keep_first": "0"})
	for claim, c := range map[string]struct{ layers, want compactor.Patch }{
		"the call overrides the parent, and the parent the definition; false and empty are values": {child, compactor.Patch{
			"background_threshold": "0.7", "keep_first": "5", "keep_last_n": "7", "enabled": "false", "extract_memories": "false", "focus": "",
		}},
		"without a call": {compactor.Spawn(parent, definition, nil), compactor.Patch{
			"background_threshold": "0.7", "keep_first": "5", "keep_last_n": "0", "enabled": "true", "extract_memories": "false", "focus": "names",
		}},
		"what the parent does not set": {compactor.Spawn(compactor.Patch{}, definition, nil), definition},
		"over three levels": {third, compactor.Patch{
			"background_threshold": "0.7", "keep_first": "0", "keep_last_n": "7", "enabled": "false", "extract_memories": "false", "focus": "",
			"pin_budget": "50", "cooldown": "1m", "max_turns": "3",
		}},
	} {
		check.That(t, maps.Equal(c.layers, c.want), "%s: got %v", claim, c.layers)
	}
	check.Equal(t, "keep_first: the child's call reached its parent", second["keep_first"], "5")
	check.That(t, len(parent) == 3 && len(definition) == 4 && len(call) == 3, "the inputs were changed")
}

func TestLevelsByHeadroom(t *testing.T) {
	for name, c := range map[string]struct {
		b, a, e             float64 // as the settings have them
		window              int
		wantB, wantA, wantE float64
	}{
		"shares stay":                              {0.8, 0.85, 0.95, 100_000, 0.8, 0.85, 0.95},
		"tokens before the end":                    {-40_000, -30_000, -10_000, 200_000, 0.8, 0.85, 0.95},
		"at most half of the window stays free":    {-40_000, -30_000, -10_000, 16_000, 0.49, 0.495, 0.5},
		"in a very large window":                   {-20_000, -15_000, -5_000, 2_000_000, 0.985, 0.99 - 0.005, 0.99},
		"a higher level pulls the lower down":      {-5_000, 0.85, 0.95, 100_000, 0.845, 0.85, 0.95},
		"emergency by headroom below the others":   {0.8, 0.85, -30_000, 100_000, 0.69, 0.695, 0.7},
		"one in tokens below those that are given": {-40_000, 0.85, 0.95, 100_000, 0.6, 0.85, 0.95},
	} {
		p := compactor.DefaultPolicy()
		p.BackgroundThreshold = c.b
		p.AggressiveThreshold = c.a
		p.EmergencyThreshold = c.e
		check.Len(t, name+": faults", p.Validate(), 0)
		p = p.At(c.window)
		near := func(a, b float64) bool { return math.Abs(a-b) < 0.0051 }
		check.That(t, near(p.BackgroundThreshold, c.wantB) && near(p.AggressiveThreshold, c.wantA) && near(p.EmergencyThreshold, c.wantE),
			"%s: %g, %g, %g; want %g, %g, %g", name, p.BackgroundThreshold, p.AggressiveThreshold, p.EmergencyThreshold, c.wantB, c.wantA, c.wantE)
		check.That(t, p.Prepare() < p.BackgroundThreshold, "%s: got prepare threshold %g", name, p.Prepare())
		check.Len(t, name+": faults in the window", p.Validate(), 0)
		check.Equal(t, name+": policy", p.At(c.window/3), p)
	}
}

func TestRunningJobKeepsItsPolicy(t *testing.T) {
	goOn := make(chan struct{})
	r := newRig(t, 100_000, waitingFor(goOn, goodSummary))
	r.policy.Focus = "names"
	r.chat(20)
	r.c.Compact(compactor.OnManual, "")
	r.set(func(p *compactor.Policy) {
		p.Focus = "numbers"
		p.KeepLastN = 7
	})
	r.c.Check(t.Context())
	close(goOn)
	r.waitIdle()
	r.chat(20)
	r.compactAndWait()
	r.policy.Focus = "places" // the policy stored in a row is never used as the policy
	r.restart()
	r.chat(20)
	r.compactAndWait()
	stack := r.c.Status().Stack
	check.Len(t, "rows", stack, 3)
	for i, focus := range []string{"names", "numbers", "places"} {
		check.Equal(t, "policy of a row", stack[i].Focus, focus)
	}
}

// The levels and the effective window in tokens.
func TestCompactAtTokensScalesLevels(t *testing.T) {
	for name, c := range map[string]struct {
		window int
		change func(*compactor.Policy)
		want   string
	}{
		"unset":                     {100_000, func(p *compactor.Policy) { p.CompactAtTokens = 0 }, "100000: prepare 60000 background 80000 aggressive 85000 emergency 95000"},
		"a tenth of the window":     {100_000, nil, "12500: prepare 7500 background 10000 aggressive 10625 emergency 95000"},
		"of a million":              {1_000_000, nil, "12500: prepare 7500 background 10000 aggressive 10625 emergency 950000"},
		"above the window":          {8_000, nil, "8000: prepare 4800 background 6400 aggressive 6800 emergency 7600"},
		"compaction is off":         {100_000, func(p *compactor.Policy) { p.Enabled = false }, "100000: prepare 60000 background 80000 aggressive 85000 emergency 95000"},
		"another prepare_threshold": {100_000, func(p *compactor.Policy) { p.PrepareThreshold = 0.4 }, "12500: prepare 5000 background 10000 aggressive 10625 emergency 95000"},
		"levels before the end": {100_000, func(p *compactor.Policy) {
			p.BackgroundThreshold = -20_000
			p.AggressiveThreshold = -10_000
		}, "12500: prepare 7500 background 10000 aggressive 11250 emergency 95000"},
		"emergency before background": {16_000, func(p *compactor.Policy) { p.EmergencyThreshold = -8_000 }, "16000: prepare 5880 background 7840 aggressive 7920 emergency 8000"},
	} {
		t.Run(name, func(t *testing.T) {
			p := compactor.DefaultPolicy()
			p.CompactAtTokens = 10_000
			if c.change != nil {
				c.change(&p)
			}
			at := p.At(c.window)
			of := func(share float64) int { return int(math.Round(share * float64(c.window))) }
			check.Equal(t, "levels", fmt.Sprintf("%d: prepare %d background %d aggressive %d emergency %d", p.Window(c.window),
				of(at.Prepare()), of(at.BackgroundThreshold), of(at.AggressiveThreshold), of(at.EmergencyThreshold)), c.want)
			check.Equal(t, "applied twice", at.At(c.window), at)
		})
	}
}
