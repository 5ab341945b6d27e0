package compactor

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cairn/llm"
)

// FieldError is one invalid setting.
type FieldError struct {
	Key   string // as the settings file spells it
	Value any
	Want  string // the valid range, in words; "": there is no such setting
	Hint  string // what was probably meant; often ""
}

func (e *FieldError) Error() string {
	if e.Want == "" {
		return e.Key + ": there is no such setting" + e.Hint
	}
	s := fmt.Sprintf("%s = %v: must be %s", e.Key, e.Value, e.Want)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// fieldErrors collects invalid settings.
type fieldErrors []*FieldError

func (e *fieldErrors) add(found ...*FieldError) {
	*e = append(*e, slices.DeleteFunc(found, func(e *FieldError) bool { return e == nil })...)
}

func (e *fieldErrors) bad(key string, value any, want string) {
	e.add(&FieldError{Key: key, Value: value, Want: want})
}

func (e *fieldErrors) count(key string, v, low, high int) {
	if v < low || v > high {
		e.bad(key, v, fmt.Sprintf("from %d to %d", low, high))
	}
}

func (e *fieldErrors) span(key string, v Duration, low, high time.Duration) {
	if time.Duration(v) < low || time.Duration(v) > high {
		e.bad(key, v, fmt.Sprintf("from %v to %v", Duration(low), Duration(high)))
	}
}

// Validate returns everything that is wrong with the policy.
func (p Policy) Validate() []*FieldError {
	errs := fieldErrors(p.validateLevels())
	errs.add(checkShare("background_fraction", p.BackgroundFraction, 0.05, 0.90))
	errs.add(checkShare("aggressive_fraction", p.AggressiveFraction, 0.05, 0.90))
	errs.add(checkShare("emergency_fraction", p.EmergencyFraction, 0.05, 0.90))
	if p.CompactAtTokens != 0 && p.CompactAtTokens < 2000 {
		errs.bad("compact_at_tokens", p.CompactAtTokens, "0 (off) or at least 2000")
	}
	if p.CacheTTL != AutoTTL && (p.CacheTTL < 0 || p.CacheTTL > TTL(24*time.Hour)) {
		errs.bad("cache_ttl", Duration(p.CacheTTL), `"auto", or from 0s to 24h`)
	}
	errs.count("keep_first", p.KeepFirst, 0, MaxKeepFirst)
	errs.count("keep_first_turns", p.KeepFirstTurns, 0, MaxKeepFirst)
	errs.count("keep_last_n", p.KeepLastN, 0, 500)
	errs.count("keep_last_turns", p.KeepLastTurns, 0, 500)
	errs.count("pin_budget", p.PinBudget, 0, 20_000)
	errs.count("tail_tokens", p.TailTokens, 500, 200_000)
	errs.count("span_tokens", p.SpanTokens, 500, 200_000)
	errs.count("target_percentage", p.TargetPct, 10, 50)
	errs.count("max_summary_tokens", p.MaxSummary, 200, 200_000)
	errs.add(checkShare("stack_budget", p.StackBudget, 0.02, 0.40))
	errs.count("rollup_fan_in", p.RollupFanIn, 2, 16)
	errs.count("earlier_sessions", p.EarlierSessions, 0, 100)
	errs.count("earlier_sessions_tokens", p.EarlierTokens, 0, 100_000)
	if names := strategyNames(); StrategyOf(p.Strategy) == nil {
		errs.add(&FieldError{
			Key: "strategy", Value: fmt.Sprintf("%q", p.Strategy), Want: `one of "` + strings.Join(names, `", "`) + `"`,
			Hint: strings.TrimPrefix(DidYouMean(p.Strategy, names), ", "),
		})
	}
	errs.add(CheckReasoning("worker_reasoning", p.Reasoning))
	errs.span("timeout", p.Timeout, time.Second, time.Hour)
	errs.count("max_turns", p.MaxTurns, 1, 100)
	errs.count("failure_limit", p.FailureLimit, 1, 100)
	errs.span("cooldown", p.Cooldown, 0, 24*time.Hour)
	errs.count("max_memories", p.MaxMemories, 0, 1000)
	errs.count("tool_results_kept", p.ToolResultsKept, 0, 1000)
	errs.count("tool_result_min_chars", p.ToolResultMinChars, 0, 1_000_000)
	errs.count("tool_output_max_lines", p.ToolOutputMaxLines, 1, 100_000)
	if p.Notify != NotifyOff && p.Notify != NotifyReaction && p.Notify != NotifyMessage {
		errs.bad("notify", p.Notify, `"off", "reaction" or "message"`)
	}
	return errs
}

// checkShare returns what is wrong with a share of the window; nil if it is valid.
func checkShare(key string, v, low, high float64) *FieldError {
	if v >= low && v <= high { // false for NaN
		return nil
	}
	e := &FieldError{Key: key, Value: v, Want: fmt.Sprintf("from %.2f to %.2f", low, high)}
	if v > 1 && v/100 >= low && v/100 <= high {
		e.Hint = fmt.Sprintf("a share of 1: write %.2f for %g %%", v/100, v)
	}
	return e
}

// validateLevels returns what is wrong with the levels and with prepare_threshold.
func (p Policy) validateLevels() (errs []*FieldError) {
	level := func(key string, v float64) {
		e := checkShare(key, v, 0.10, 0.99)
		if v < 0 {
			e.Want += fmt.Sprintf(", or from -%d to -%d: so many tokens before the window's end", maxHeadroom, minHeadroom)
		}
		if e != nil && !(v >= -maxHeadroom && v <= -minHeadroom && v == math.Trunc(v)) {
			errs = append(errs, e)
		}
	}
	level("background_threshold", p.BackgroundThreshold)
	level("aggressive_threshold", p.AggressiveThreshold)
	level("emergency_threshold", p.EmergencyThreshold)
	crossed := func(lower, higher float64) bool { return (lower < 0) == (higher < 0) && !(lower < higher) } // a level in tokens is compared with one in shares by At
	if b, a, e := p.BackgroundThreshold, p.AggressiveThreshold, p.EmergencyThreshold; len(errs) == 0 && (crossed(b, a) || crossed(a, e) || crossed(b, e)) {
		errs = append(errs, &FieldError{
			Key: "background_threshold", Value: b,
			Want: fmt.Sprintf("below aggressive_threshold (%g), which must be below emergency_threshold (%g)", a, e),
		})
	}
	if p.PrepareThreshold != -1 && !(p.PrepareThreshold >= 0 && p.PrepareThreshold < 1 && (p.BackgroundThreshold < 0 || p.PrepareThreshold < p.BackgroundThreshold)) {
		errs = append(errs, &FieldError{Key: "prepare_threshold", Value: p.PrepareThreshold, Want: fmt.Sprintf("0 (off) or below background_threshold (%g)", p.BackgroundThreshold)})
	}
	return errs
}

// CheckReasoning returns what is wrong with the value of a setting for the reasoning effort; nil if
// it is valid.
func CheckReasoning(key, value string) *FieldError {
	if value == "" || slices.Contains(llm.ReasoningEfforts, value) {
		return nil
	}
	efforts := llm.ReasoningEfforts
	return &FieldError{
		Key: key, Value: value, Want: fmt.Sprintf(`empty, or one of "%s"`, strings.Join(efforts, `", "`)),
		Hint: strings.TrimPrefix(DidYouMean(value, efforts), ", "),
	}
}
