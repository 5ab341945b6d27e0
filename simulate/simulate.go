// Package simulate tries settings on a recorded conversation without a model: the real
// engine plans and applies in virtual time, and the extractive summarizer, or what was
// really summarized, makes the summaries. Nothing is written but, where questions are asked, a
// database in the temporary folder.
package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/promptcache"
	"cairn/llm/prices"
	"cairn/store"
)

// Recording is a conversation as it happened.
type Recording struct {
	Name      string
	Messages  []Message                // by Seq
	Summaries []Summary                // what was really summarized, in the order in which it was begun; may be empty
	Sessions  []int64                  // the first seqs of the sessions that somebody began with /new
	Requests  map[int64]compactor.Sent // what was counted of the last request of a turn, by the seq of its answer
	Imported  int64                    // messages up to this seq were imported: written in batches, and nobody answered them
}

// said are the messages of a span.
func (r *Recording) said(from, to int64) []Message {
	by := func(m Message, seq int64) int { return cmp.Compare(m.Seq, seq) }
	i, _ := slices.BinarySearchFunc(r.Messages, from, by)
	j, _ := slices.BinarySearchFunc(r.Messages, to+1, by)
	return r.Messages[i:max(i, j)]
}

// Message is one message of a recording. Seq and Turn are set, and Tokens.
type Message struct {
	chat.Message
	Saved time.Time // when it was stored: from then on the engine knew it
}

// Summary is a summary that was really made.
type Summary = store.RecordedSummary

// Variant is one way to set a conversation.
type Variant struct {
	Name string
	Set  []Setting // over the settings in force
}

// Setting is one value by its key: a key of [defaults.compaction], or context_window.
type Setting struct{ Key, Value string }

// WindowKey is the setting of a variant that no policy has.
const WindowKey = "context_window"

// The range of a window in settings, in tokens.
const leastWindow, mostWindow = 1000, 100_000_000

// ParseSetting reads KEY=VALUE.
func ParseSetting(text string) (Setting, error) {
	key, value, found := strings.Cut(text, "=")
	key, value = strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `"`)
	if !found || key == "" {
		return Setting{}, fmt.Errorf("%q: write it as KEY=VALUE, such as background_threshold=0.6", text)
	}
	return Setting{key, value}, nil
}

func (s Setting) String() string { return s.Key + "=" + s.Value }

// Options are what all variants have in common: who answers, and what that costs.
type Options struct {
	// Engine is the agent's engine: System, Tools, MaxOutput, Model, Window, Learnt, CacheTTL.
	// Its Worker, if it is not nil, is never asked: it tells only that there is one.
	Engine compactor.Options
	Policy compactor.Policy // in force
	Cache  string           // a kind of promptcache; empty: promptcache.Prefix

	Turns, Worker *prices.Price // of the models; nil: nobody knows

	Questions []Question // about the recording; asked at its end

	Progress func(done, total int) // messages of all variants; may be nil
}

// variant is one that is going to be run.
type variant struct {
	Variant
	policy compactor.Policy
	window func() int
}

// Check returns what is wrong with a variant: unknown keys, and values that cannot be.
func (o Options) Check(v Variant) error {
	_, err := o.variant(v)
	return err
}

func (o Options) variant(v Variant) (variant, error) {
	made := variant{Variant: v, policy: o.Policy, window: o.Engine.Window}
	for _, s := range v.Set {
		if s.Key == WindowKey {
			n, err := strconv.Atoi(s.Value)
			if err != nil || n < leastWindow || n > mostWindow {
				return made, fmt.Errorf("%s = %s: must be a whole number from %d to %d", s.Key, s.Value, leastWindow, mostWindow)
			}
			made.window = func() int { return n }
			continue
		}
		var wrong []*compactor.FieldError
		made.policy, wrong = compactor.Patch{s.Key: s.Value}.Over(made.policy)
		if len(wrong) > 0 {
			return made, wrong[0]
		}
	}
	if wrong := made.policy.Validate(); len(wrong) > 0 {
		return made, wrong[0]
	}
	return made, nil
}

// InForce is the name of the first variant: the settings in force.
const InForce = "in force"

// Run simulates a recording under the settings in force, and under each variant. Its error is
// what is wrong with a variant or the recording, or the context's.
func Run(ctx context.Context, rec Recording, variants []Variant, o Options) (Report, error) {
	all := []variant{{Variant: Variant{Name: InForce}, policy: o.Policy, window: o.Engine.Window}}
	for _, v := range variants {
		made, err := o.variant(v)
		if err != nil {
			return Report{}, err
		}
		if made.Name == "" {
			made.Name = nameOf(v)
		}
		all = append(all, made)
	}
	if o.Cache == "" {
		o.Cache = promptcache.Prefix
	}
	report := Report{Name: rec.Name, Messages: len(rec.Messages), rec: rec}
	asked, err := search(ctx, rec, o.Questions)
	if err != nil {
		return Report{}, fmt.Errorf("search the recording: %w", err)
	}
	total := len(all) * len(rec.Messages)
	for i, v := range all {
		p, err := newPlayer(ctx, rec, v, o)
		if err != nil {
			return Report{}, fmt.Errorf("simulate %s: %w", v.Name, err)
		}
		p.progress = func(done int) {
			if o.Progress != nil {
				o.Progress(i*len(rec.Messages)+done, total)
			}
		}
		if err := p.play(ctx); err != nil {
			return Report{}, fmt.Errorf("simulate %s: %w", v.Name, err)
		}
		made := p.result(o)
		if asked != nil {
			if made.Found, err = p.ask(ctx, asked); err != nil {
				return Report{}, fmt.Errorf("ask in %s: %w", v.Name, err)
			}
		}
		report.Variants = append(report.Variants, made)
	}
	report.Equal, report.Happened = rec.equal(report.Variants[0])
	return report, nil
}

func nameOf(v Variant) string {
	if len(v.Set) == 0 {
		return "as in force"
	}
	var parts []string
	for _, s := range v.Set {
		parts = append(parts, s.String())
	}
	return strings.Join(parts, " ")
}
