package compactor

import (
	"fmt"
	"strings"
	"time"

	"cairn/compactor/worker"
	"cairn/transcript"
)

// Policy determines when and how a channel is compacted. Settings are merged field by field: a
// layer inherits what it does not set. DefaultPolicy has the defaults. Validate checks the ranges, in
// CheckRange's syntax, and what a tag cannot say.
type Policy struct {
	// Enabled switches the levels below emergency. Emergency always works.
	Enabled bool `toml:"enabled"`

	// The levels, as shares of the window; a negative value is a number of tokens before its end. A
	// level is reached at >= its threshold.
	BackgroundThreshold float64 `toml:"background_threshold"`
	AggressiveThreshold float64 `toml:"aggressive_threshold"`
	EmergencyThreshold  float64 `toml:"emergency_threshold"`

	// At least this share of the verbatim tokens leaves when the level is reached.
	BackgroundFraction float64 `toml:"background_fraction" range:"0.05 to 0.90"`
	AggressiveFraction float64 `toml:"aggressive_fraction" range:"0.05 to 0.90"`
	EmergencyFraction  float64 `toml:"emergency_fraction" range:"0.05 to 0.90"`

	// PrepareThreshold is where preparation starts, as a share of the window; 0 is off, negative (the
	// default) follows the background threshold, see Prepare.
	PrepareThreshold float64 `toml:"prepare_threshold"`
	// CompactAtTokens lowers the background level to this many used tokens, and with it every budget that is a
	// share of the window, see Window; 0 is off.
	CompactAtTokens int `toml:"compact_at_tokens"`
	// CacheTTL is how long a provider's prompt cache stays warm; AutoTTL: as long as
	// the model's provider keeps it.
	CacheTTL TTL `toml:"cache_ttl"`
	// Economy applies everything prepared when a level is reached or the cache is cold, instead of
	// the level's fraction: fewer tokens are sent, fewer messages stay verbatim.
	Economy bool `toml:"economy"`

	KeepFirst       int `toml:"keep_first" range:"0 to 20"`         // first addressed messages copied into the head
	KeepFirstTurns  int `toml:"keep_first_turns" range:"0 to 20"`   // first addressed turns, with their replies, likewise
	KeepLastN       int `toml:"keep_last_n" range:"0 to 500"`       // newest messages spared, rounded up to turns
	KeepLastTurns   int `toml:"keep_last_turns" range:"0 to 500"`   // newest turns spared; the larger of both counts
	PinBudget       int `toml:"pin_budget" range:"0 to 20000"`      // maximum tokens of first messages and pins together
	TailTokens      int `toml:"tail_tokens" range:"500 to 200000"`  // maximum tokens that both may spare
	SpanTokens      int `toml:"span_tokens" range:"500 to 200000"`  // tokens of one piece that is prepared
	TargetPct       int `toml:"target_percentage" range:"10 to 50"` // a summary's length, in percent of its span
	MaxSummary      int `toml:"max_summary_tokens" range:"200 to 200000"`
	RollupFanIn     int `toml:"rollup_fan_in" range:"2 to 16"`               // maximum number of summaries folded into one
	EarlierSessions int `toml:"earlier_sessions" range:"0 to 100"`           // shown as summaries
	EarlierTokens   int `toml:"earlier_sessions_tokens" range:"0 to 100000"` // maximum tokens of them; 0: half of the stack's budget
	MaxTurns        int `toml:"max_turns" range:"1 to 100"`                  // maximum calls of the worker's model per chunk
	FailureLimit    int `toml:"failure_limit" range:"1 to 100"`              // failures until the extractive summarizer takes over
	MaxMemories     int `toml:"max_memories" range:"0 to 1000"`              // maximum number of memories one compaction saves

	StackBudget float64 `toml:"stack_budget" range:"0.02 to 0.40"` // share of the window that the stack may take

	Strategy   string   `toml:"strategy"`                   // the name of the worker.Strategy that makes summaries
	Model      string   `toml:"model"`                      // for the worker; empty: the agent's
	Reasoning  string   `toml:"worker_reasoning"`           // reasoning effort of the worker's model, one of llm.ReasoningEfforts; empty: the server's default
	Focus      string   `toml:"focus"`                      // what every summary should keep
	PromptFile string   `toml:"prompt_file"`                // the worker's prompt; empty: the one in prompts/
	Timeout    Duration `toml:"timeout" range:"1s to 1h"`   // without a byte from the worker's model
	Cooldown   Duration `toml:"cooldown" range:"0s to 24h"` // pause of the automatic levels after applied compactions that freed little

	ExtractMemories bool `toml:"extract_memories"`

	ToolResultsKept    int `toml:"tool_results_kept" range:"0 to 1000"`        // newest results that are never cleared
	ToolResultMinChars int `toml:"tool_result_min_chars" range:"0 to 1000000"` // shorter results are never cleared
	ToolOutputMaxLines int `toml:"tool_output_max_lines" range:"1 to 100000"`  // of kept results behind the newest

	Notify string `toml:"notify"` // off, reaction or message: how a channel is notified of an applied compaction
}

// Duration is a time.Duration that settings write as "5m", or as "auto" where the model's provider
// determines it.
type Duration time.Duration

// TTL is how long a cache entry lives.
type TTL = Duration

// AutoTTL leaves a TTL to the model's provider.
const AutoTTL TTL = -1

// DefaultTTL is how long a prompt cache lives if the provider does not say.
const DefaultTTL = 5 * time.Minute

// UnmarshalText reads "90s", "5m", "1h30m" and "auto".
func (d *Duration) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*d = AutoTTL
		return nil
	}
	v, err := time.ParseDuration(string(text))
	if err != nil || Duration(v) == AutoTTL {
		return fmt.Errorf(`invalid duration %q: use e.g. "90s", "5m" or "1h30m"`, text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes the format that UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) {
	if d == AutoTTL {
		return []byte("auto"), nil
	}
	return []byte(time.Duration(d).String()), nil
}

// String returns "2m" where time.Duration, and MarshalText, have "2m0s".
func (d Duration) String() string {
	whole, _ := d.MarshalText()
	text, minutes := strings.CutSuffix(string(whole), "m0s")
	if !minutes {
		return text
	}
	if hours, full := strings.CutSuffix(text, "h0"); full {
		return hours + "h"
	}
	return text + "m"
}

// Or returns d; for AutoTTL the result of auto, or DefaultTTL if auto is nil.
func (d Duration) Or(auto func() time.Duration) time.Duration {
	switch {
	case d != AutoTTL:
		return time.Duration(d)
	case auto != nil:
		return auto()
	}
	return DefaultTTL
}

// The values of Notify.
const (
	NotifyOff      = "off"
	NotifyReaction = "reaction"
	NotifyMessage  = "message"
)

// MaxKeepFirst is the maximum of KeepFirst and KeepFirstTurns, as in the tags of their ranges.
const MaxKeepFirst = transcript.MaxFirst

// DefaultPolicy returns the policy without any settings.
func DefaultPolicy() Policy {
	return Policy{
		Enabled:             true,
		BackgroundThreshold: 0.80, AggressiveThreshold: 0.85, EmergencyThreshold: 0.95,
		BackgroundFraction: 0.30, AggressiveFraction: 0.50, EmergencyFraction: 0.50,
		PrepareThreshold: -1, CacheTTL: AutoTTL,
		KeepFirst: 1, KeepLastN: 4, PinBudget: 1000,
		TailTokens: 16_000, SpanTokens: 12_000, TargetPct: 20, MaxSummary: 200_000,
		StackBudget: 0.15, RollupFanIn: 6, EarlierSessions: 3,
		Strategy: worker.StrategyWorker, Reasoning: "low", Timeout: Duration(2 * time.Minute), MaxTurns: 10, FailureLimit: 3, Cooldown: Duration(5 * time.Minute),
		ExtractMemories: true, MaxMemories: 20,
		ToolResultsKept: 3, ToolResultMinChars: 100, ToolOutputMaxLines: 50,
		Notify: NotifyOff,
	}
}

// Window returns the window that budgets are shares of: the model's, or, if it is smaller, the one whose
// background level is compact_at_tokens. p is a policy as it is set, not one that At returned.
func (p Policy) Window(window int) int {
	if p.CompactAtTokens == 0 || !p.Enabled {
		return window
	}
	return min(window, int(float64(p.CompactAtTokens)/p.shares(window).BackgroundThreshold))
}

// At returns the policy with all levels as shares of the model's window. compact_at_tokens lowers background,
// and with it aggressive and prepare; emergency, which needs no more room than the model has, stays.
func (p Policy) At(window int) Policy {
	p = p.shares(window)
	at := float64(p.CompactAtTokens) / float64(max(window, 1))
	if p.CompactAtTokens == 0 || !p.Enabled || at >= p.BackgroundThreshold {
		return p
	}
	p.PrepareThreshold = p.Prepare() * at / p.BackgroundThreshold
	p.AggressiveThreshold *= at / p.BackgroundThreshold
	p.BackgroundThreshold = at
	return p
}

// shares returns the policy with levels that are tokens before the window's end as shares of it. Such a
// level leaves at most half of the window free. Where levels of both kinds cross, the higher level pulls
// the lower one down.
func (p Policy) shares(window int) Policy {
	share := func(threshold float64) float64 {
		if threshold < 0 {
			return min(max(1+threshold/float64(max(window, 1)), 0.50), 0.99)
		}
		return threshold
	}
	if p.BackgroundThreshold < 0 || p.AggressiveThreshold < 0 || p.EmergencyThreshold < 0 {
		p.EmergencyThreshold = share(p.EmergencyThreshold)
		p.AggressiveThreshold = min(share(p.AggressiveThreshold), p.EmergencyThreshold-levelGap)
		p.BackgroundThreshold = min(share(p.BackgroundThreshold), p.AggressiveThreshold-levelGap)
		p.PrepareThreshold = min(p.PrepareThreshold, p.BackgroundThreshold)
	}
	return p
}

const (
	levelGap    = 0.005 // of the window: smallest distance between two levels that would cross
	minHeadroom = 500   // tokens of a level before the window's end
	maxHeadroom = 1_000_000
)

// Prepare returns the share of the window from which summaries are prepared; 0: never. If it is not
// set, that is the smaller of 0.60 and three quarters of the background threshold, as At returns
// it.
func (p Policy) Prepare() float64 {
	switch {
	case p.Strategy == worker.StrategyWindow: // nothing takes time to make
		return 0
	case p.PrepareThreshold >= 0:
		return p.PrepareThreshold
	case p.BackgroundThreshold < 0:
		return 0.60
	}
	return min(0.60, 0.75*p.BackgroundThreshold)
}
