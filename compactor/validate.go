// What is wrong with settings, and what they mean for a window.

package compactor

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/compactor/worker"
	"cairn/llm"
)

// LeastLimit is the smallest compact_at_tokens.
const LeastLimit = 2000

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
	value := fmt.Sprint(e.Value)
	if e.Hint != "" {
		return fmt.Sprintf("%s = %s: must be %s (%s)", e.Key, value, e.Want, e.Hint)
	}
	return fmt.Sprintf("%s = %s: must be %s", e.Key, value, e.Want)
}

// CheckRange returns what is wrong with a number or Duration; nil if it is in the range, such as
// "0.05 to 0.90", "1s to 10m" or "0 or 1h to 720h".
func CheckRange(key string, value any, within string) *FieldError {
	within, zero := strings.CutPrefix(within, "0 or ")
	lowest, highest, _ := strings.Cut(within, " to ")
	low := bound(lowest)
	high := bound(highest)
	n := reflect.ValueOf(value).Convert(reflect.TypeFor[float64]()).Float()
	if n >= low && n <= high || zero && n == 0 { // false for NaN
		return nil
	}
	e := &FieldError{Key: key, Value: value, Want: "from " + within}
	if n > 1 && high <= 1 && n/100 >= low && n/100 <= high {
		e.Hint = fmt.Sprintf("a share of 1: write %s for %s", fmt.Sprintf("%.2f", n/100), fmt.Sprintf("%g %%", n))
	}
	return e
}

// bound reads a bound of a range: a number, or a duration as nanoseconds.
func bound(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		duration, _ := time.ParseDuration(text)
		return float64(duration)
	}
	return n
}

// Validate returns everything that is wrong with the policy.
func (p Policy) Validate() []*FieldError {
	errs := append(p.validateLevels(),
		checkChoice("strategy", fmt.Sprintf("%q", p.Strategy), p.Strategy, "one of", worker.Strategies()),
		CheckReasoning("worker_reasoning", p.Reasoning),
	)
	for field, value := range reflect.ValueOf(p).Fields() {
		if within := field.Tag.Get("range"); within != "" {
			errs = append(errs, CheckRange(field.Tag.Get("toml"), value.Interface(), within))
		}
	}
	if p.CompactAtTokens != 0 && p.CompactAtTokens < LeastLimit {
		errs = append(errs, &FieldError{Key: "compact_at_tokens", Value: p.CompactAtTokens, Want: "0 (off) or at least 2000"})
	}
	if p.CacheTTL != AutoTTL && (p.CacheTTL < 0 || p.CacheTTL > TTL(24*time.Hour)) {
		errs = append(errs, &FieldError{Key: "cache_ttl", Value: p.CacheTTL, Want: `"auto", or from 0s to 24h`})
	}
	if p.Notify != NotifyOff && p.Notify != NotifyReaction && p.Notify != NotifyMessage {
		errs = append(errs, &FieldError{Key: "notify", Value: p.Notify, Want: `"off", "reaction" or "message"`})
	}
	return slices.DeleteFunc(errs, func(e *FieldError) bool { return e == nil })
}

func (p Policy) validateLevels() (errs []*FieldError) {
	level := func(key string, v float64) {
		e := CheckRange(key, v, "0.10 to 0.99")
		if v < 0 {
			e.Want += fmt.Sprintf(", or from -%d to -%d: tokens left in the window", maxHeadroom, minHeadroom)
		}
		if e != nil && !(v >= -maxHeadroom && v <= -minHeadroom && v == math.Trunc(v)) {
			errs = append(errs, e)
		}
	}
	level("background_threshold", p.BackgroundThreshold)
	level("aggressive_threshold", p.AggressiveThreshold)
	level("emergency_threshold", p.EmergencyThreshold)
	crossed := func(lower, higher float64) bool { return (lower < 0) == (higher < 0) && !(lower < higher) } // a level in tokens is compared with one in shares by At
	b := p.BackgroundThreshold
	a := p.AggressiveThreshold
	e := p.EmergencyThreshold
	if len(errs) == 0 && (crossed(b, a) || crossed(a, e) || crossed(b, e)) {
		errs = append(errs, &FieldError{
			Key: "background_threshold", Value: b,
			Want: fmt.Sprintf("below aggressive_threshold (%s), which must be below emergency_threshold (%s)", fmt.Sprint(a), fmt.Sprint(e)),
		})
	}
	if p.PrepareThreshold != -1 && !(p.PrepareThreshold >= 0 && p.PrepareThreshold < 1 && (p.BackgroundThreshold < 0 || p.PrepareThreshold < p.BackgroundThreshold)) {
		errs = append(errs, &FieldError{Key: "prepare_threshold", Value: p.PrepareThreshold, Want: fmt.Sprintf("0 (off) or below background_threshold (%s)", fmt.Sprint(p.BackgroundThreshold))})
	}
	return errs
}

// CheckReasoning returns what is wrong with the value of a setting for the reasoning effort; nil if
// it is valid.
func CheckReasoning(key, value string) *FieldError {
	if value == "" {
		return nil
	}
	return checkChoice(key, value, value, "empty, or one of", llm.ReasoningEfforts)
}

func checkChoice(key, given, value, want string, choices []string) *FieldError {
	if slices.Contains(choices, value) {
		return nil
	}
	return &FieldError{
		Key: key, Value: given, Want: fmt.Sprintf(`%s "%s"`, want, strings.Join(choices, `", "`)),
		Hint: strings.TrimPrefix(DidYouMean(value, choices), ", "),
	}
}

// Meaning explains what a setting means for a window, in tokens.
type Meaning struct {
	Key    string `json:"key"`    // of the policy, or one of context_window, max_output_tokens, instructions
	Value  string `json:"value"`  // in the syntax of the settings
	Tokens int    `json:"tokens"` // after all limits
	Means  string `json:"means"`
	Moves  string `json:"moves,omitempty"` // what else it affects
}

// Explain returns what the settings mean for a window, largest first.
func (p Policy) Explain(system string, tools []llm.Tool, maxOutput, window int) []Meaning {
	given := p
	shared := p.Window(window)
	p = p.At(window)
	of := func(share float64) int { return int(math.Round(share * float64(window))) }
	all := []Meaning{
		{"context_window", fmt.Sprint(window), window, "prompt and reply together", "every level below that is a share of it"},
		{"emergency_threshold", "", of(p.EmergencyThreshold), fmt.Sprintf("from here on, the oldest %.0f %% of the messages are removed immediately, without a model", 100*p.EmergencyFraction), ""},
		{"aggressive_threshold", "", of(p.AggressiveThreshold), fmt.Sprintf("from here on, summaries replace the oldest %.0f %% of the messages", 100*p.AggressiveFraction), ""},
		{"background_threshold", "", of(p.BackgroundThreshold), fmt.Sprintf("from here on, summaries replace the oldest %.0f %% of the messages", 100*p.BackgroundFraction), p.movesOfBackground()},
		{"prepare_threshold", "", of(p.Prepare()), "from here on, summaries are prepared", ""},
		{"stack_budget", "", p.stackBudget(shared), "all summaries together; beyond it they are rolled up", fmt.Sprintf("one summary may have %d, earlier sessions %d", p.entryCap(shared, p.stackBudget(shared)), p.maxPast(shared))},
		{"tail_tokens", "", p.tail(shared), fmt.Sprintf("the newest %s stay verbatim, up to this many tokens%s", p.newest(), limited(p.TailTokens, p.tail(shared), "a quarter of the window")), ""},
		{"span_tokens", "", p.spanTokens(shared), "messages that one prepared summary covers" + limited(p.SpanTokens, p.spanTokens(shared), "a quarter of background_fraction of the window"), fmt.Sprintf("its summary has about %d (target_percentage = %d)", p.target(p.spanTokens(shared), p.entryCap(shared, p.stackBudget(shared))), p.TargetPct)},
		{"pin_budget", "", min(p.PinBudget, shared/firstShare), "first messages and pins" + limited(p.PinBudget, shared/firstShare, "a tenth of the window"), ""},
		{"max_output_tokens", fmt.Sprint(maxOutput), Reserve(maxOutput, shared), "reserved for the reply; counts as used" + limited(maxOutput, Reserve(maxOutput, shared), "an eighth of the window"), "all levels: less room is left for messages"},
		{"instructions", "", FrameCost(system, tools), "system prompt and tools; they count as used", "all levels: less room is left for messages"},
	}
	if p.CompactAtTokens > 0 {
		all = append(all, Meaning{"compact_at_tokens", "", p.CompactAtTokens, "the background level, if that is lower", fmt.Sprintf("all other levels but emergency, and all budgets, as if the window had %d tokens", shared)})
	}
	if !p.Enabled {
		all = append(all, Meaning{"enabled", "", 0, "only emergency_threshold works", "background_threshold, aggressive_threshold, prepare_threshold, compact_at_tokens"})
	}
	for i, m := range all {
		all[i].Value = cmp.Or(m.Value, given.Value(m.Key))
		if m.Key == "prepare_threshold" && given.PrepareThreshold < 0 {
			all[i].Value = fmt.Sprintf("%.4g", p.Prepare())
			all[i].Means += "; by default the smaller of 0.6 and 0.75 × background_threshold"
		}
		if m.Key == "prepare_threshold" && p.Prepare() == 0 {
			all[i].Means = "off: nothing is prepared"
		}
	}
	slices.SortStableFunc(all, func(a, b Meaning) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return all
}

func (p Policy) newest() string {
	if p.KeepLastTurns > 0 {
		return fmt.Sprintf("%d messages (keep_last_n) and %d turns (keep_last_turns)", p.KeepLastN, p.KeepLastTurns)
	}
	return fmt.Sprintf("%d messages (keep_last_n)", p.KeepLastN)
}

func (p Policy) movesOfBackground() string {
	moves := "must stay below aggressive_threshold"
	if p.PrepareThreshold < 0 {
		lower := p
		lower.BackgroundThreshold -= 0.1
		moves = fmt.Sprintf("prepare_threshold follows: %.4g at %.4g; %s", lower.Prepare(), lower.BackgroundThreshold, moves)
	}
	return moves
}

func limited(set, is int, by string) string {
	if is >= set {
		return ""
	}
	return fmt.Sprintf(" (limited to %s; the setting is %d)", by, set)
}

// ValidateWindow describes, with numbers, which levels a conversation reaches before the first
// message: those below what system prompt, tools, the reply's reserve and pins take of the window.
// "" if there are none.
func (p Policy) ValidateWindow(system string, tools []llm.Tool, maxOutput, window int) string {
	given := p
	p = p.At(window)
	shared := given.Window(window)
	frame := FrameCost(system, tools)
	reserve := Reserve(maxOutput, shared)
	pins := min(p.PinBudget, shared/firstShare)
	need := frame + reserve + pins
	var low []string
	level := func(key string, tokens int, counts bool) {
		if counts && tokens <= need {
			low = append(low, fmt.Sprintf("%s = %s (%d tokens)", key, given.Value(key), tokens))
		}
	}
	share := func(threshold float64) int { return int(threshold * float64(window)) }
	level("background_threshold", share(p.BackgroundThreshold), p.Enabled && shared == window)
	level("aggressive_threshold", share(p.AggressiveThreshold), p.Enabled && shared == window)
	level("emergency_threshold", share(p.EmergencyThreshold), true)
	level("compact_at_tokens", p.CompactAtTokens, shared < window)
	if len(low) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: reached before the first message. Of a window of %d tokens, %d are needed for system prompt and tools, %d for the reply, %d for pins: %d in all. Set a larger context_window or threshold, or a smaller max_output_tokens or pin_budget",
		strings.Join(low, ", "), window, frame, reserve, pins, need)
}

// ValidateLimit checks whether a conversation can stay below compact_at_tokens in a window, if system prompt and tools
// take frame tokens. fault: it cannot, even without summaries. doubt says why it may not always; "" if it can.
func (p Policy) ValidateLimit(frame, maxOutput, window int) (fault *FieldError, doubt string) {
	shared := p.Window(window)
	limit := p.CompactAtTokens
	if shared == window {
		return nil, ""
	}
	reserve := Reserve(maxOutput, shared)
	tail := p.tail(shared)
	head := min(p.PinBudget, shared/firstShare) + p.stackBudget(shared)
	need := fmt.Sprintf("%d tokens for system prompt and tools, %d for the reply, %d for the newest messages", frame, reserve, tail)
	switch least := frame + reserve + tail; {
	case least > limit:
		return &FieldError{
			Key: "compact_at_tokens", Value: limit, Want: "0 (off) or more than what compaction never removes: " + need,
			Hint: "lower max_output_tokens or tail_tokens, or shorten the instructions, if it must be that small",
		}, ""
	case least+head > limit:
		return nil, fmt.Sprintf("compact_at_tokens = %d: a conversation with many pins and summaries may stay above it, which needs %s and %d for pins and summaries; raise it, or lower stack_budget, pin_budget or tail_tokens", limit, need, head)
	}
	return nil, ""
}
