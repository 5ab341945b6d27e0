// Package simulate tries settings on a recorded conversation without a model: the real engine plans
// and applies in virtual time, with recorded summaries or extracts. It writes nothing, except for a
// database in the temporary folder if there are questions.
package simulate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/channel"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
)

// Recording is a conversation as it happened.
type Recording struct {
	Name      string
	Messages  []Message                // by Seq
	Summaries []Summary                // recorded summaries in the order in which they were started; may be empty
	Sessions  []int64                  // the first seqs of the sessions that /new started
	Requests  map[int64]compactor.Sent // the measured last request of a turn, by the seq of its answer
	Imported  int64                    // messages up to this seq were imported: written in batches, without answers

	began, ended time.Time // what happened between them counts; zero: no limit
}

func (r *Recording) between(from, to int64) []Message {
	by := func(m Message, seq int64) int { return cmp.Compare(m.Seq, seq) }
	i, _ := slices.BinarySearchFunc(r.Messages, from, by)
	j, _ := slices.BinarySearchFunc(r.Messages, to+1, by)
	return r.Messages[i:max(i, j)]
}

// Message is one message of a recording, with the time when it was stored, and the engine got it. Seq
// and Turn are set, and Tokens.
type Message = store.Recorded

// Summary is a recorded summary.
type Summary = store.RecordedSummary

// Variant is a set of settings to try.
type Variant struct {
	Name string
	Set  compactor.Patch // over the current settings; it may also have WindowKey
}

// WindowKey is a variant's setting that is not part of a policy.
const WindowKey = "context_window"

// The range of a window in settings, in tokens.
const minWindow, maxWindow = 1000, 100_000_000

// Options are common to all variants: the agent, and its prices.
type Options struct {
	// Engine is the agent's engine: System, Tools, MaxOutput, Model, Window, Learned, CacheTTL. Its
	// Worker is never called: whether it is nil says only whether there is one.
	Engine compactor.Options
	Policy compactor.Policy // the current one
	Cache  string           // one of the llm.Cache rules; "": llm.CachePrefix

	Turns, Worker *prices.Price // of the models; nil: unknown

	From int64 // the first message that counts; those before it are replayed, but nothing of them is in the report. 0: all count

	Questions []Question // about the recording, to be answered at its end

	Progress func(done, total int) // messages of all variants; may be nil
}

// Check returns an error if a variant has unknown keys or invalid values.
func (o Options) Check(v Variant) error {
	_, err := o.with(v)
	return err
}

// with returns the options with the policy and the window of a variant.
func (o Options) with(v Variant) (Options, error) {
	set := maps.Clone(v.Set)
	if text, given := set[WindowKey]; given {
		n, err := strconv.Atoi(text)
		if err != nil || n < minWindow || n > maxWindow {
			return o, fmt.Errorf("%s = %s: must be a whole number from %d to %d", WindowKey, text, minWindow, maxWindow)
		}
		o.Engine.Window = func() int { return n }
		delete(set, WindowKey)
	}
	var wrong []*compactor.FieldError
	o.Policy, wrong = set.Over(o.Policy)
	wrong = append(wrong, o.Policy.Validate()...)
	if len(wrong) > 0 {
		return o, wrong[0]
	}
	return o, nil
}

// Current is the name of the first variant: the current settings.
const Current = "current"

// Run simulates a recording under the current settings and under each variant. The error is about
// a variant or the recording, or the context's.
func Run(ctx context.Context, rec Recording, variants []Variant, o Options) (Report, error) {
	o.Cache = cmp.Or(o.Cache, llm.CachePrefix)
	report := Report{Name: rec.Name}
	if err := rec.count(o.From, &report); err != nil {
		return report, err
	}
	questions, err := search(ctx, rec, o.Questions)
	if err != nil {
		return report, fmt.Errorf("search the recording: %w", err)
	}
	all := append([]Variant{{Name: Current}}, variants...)
	for i, v := range all {
		v.Name = cmp.Or(v.Name, nameOf(v))
		options, err := o.with(v)
		if err != nil {
			return report, err
		}
		progress := func(done int) {
			if o.Progress != nil {
				o.Progress(i*len(rec.Messages)+done, len(all)*len(rec.Messages))
			}
		}
		result, err := replay(ctx, rec, v, options, questions, progress)
		if err != nil {
			return report, fmt.Errorf("simulate %s: %w", v.Name, err)
		}
		report.Variants = append(report.Variants, result)
	}
	report.Equal, report.Happened = rec.equal(report.Variants[0])
	return report, nil
}

func nameOf(v Variant) string {
	if len(v.Set) == 0 {
		return "as now"
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(v.Set)) {
		parts = append(parts, key+"="+v.Set[key])
	}
	return strings.Join(parts, " ")
}

// importedAfter is the minimum delay between a message's time and its storage in an import.
const importedAfter = time.Hour

// Read reads a conversation of the database as a recording. It writes nothing.
func Read(ctx context.Context, c *store.Conversation) (Recording, error) {
	rec := Recording{Name: c.Name()}
	recorded, err := c.Transcript().Recorded(ctx)
	if err != nil {
		return rec, err
	}
	for _, m := range recorded {
		if m.Seq == rec.Imported+1 && m.Role == llm.RoleUser && !m.Addressed && m.Saved.Sub(m.Time) > importedAfter {
			rec.Imported = m.Seq
		}
	}
	rec.Messages = recorded
	turns, err := c.Turns().Usages(ctx, time.Time{}, 0, 0)
	if err != nil {
		return rec, err
	}
	rec.Requests = make(map[int64]compactor.Sent, len(turns))
	for _, t := range turns {
		rec.Requests[t.Seq] = t.Sent
	}
	rec.Summaries, rec.Sessions, err = c.Compactions().Recorded(ctx)
	return rec, err
}

// FromFile makes a recording of messages that were never in a conversation: those by bot are the
// bot's answers to the message before them. If bot is "" there are no answers, and all messages
// count as imported.
func FromFile(name string, inbound []store.Inbound, bot string) Recording {
	rec := Recording{Name: name}
	seen := map[string]int64{}
	for _, in := range inbound {
		if seen[in.ID] > 0 {
			continue
		}
		m := chat.Message{
			Seq: int64(len(rec.Messages) + 1), ID: in.ID, Role: llm.RoleUser, AuthorID: in.AuthorID, Author: in.Author,
			Text: in.Text, Attachments: in.Attachments, Time: in.Time,
		}
		m.Turn = m.Seq
		seen[in.ID] = m.Seq
		if n := len(rec.Messages); bot != "" && strings.EqualFold(in.Author, bot) && n > 0 {
			before := &rec.Messages[n-1]
			if before.Role == llm.RoleUser {
				before.Addressed = true
			}
			m.Role = llm.RoleAssistant
			m.Author = ""
			m.AuthorID = ""
			m.Turn = before.Turn
		}
		m.Tokens = chat.TokensOf(m)
		rec.Messages = append(rec.Messages, Message{Message: m, Saved: m.Time})
	}
	if bot == "" {
		rec.Imported = int64(len(rec.Messages))
	}
	return rec
}

// OptionsOf returns the options for an agent, with its models' prices.
func OptionsOf(ctx context.Context, agent channel.Agent, policy compactor.Policy, list prices.List) Options {
	o := Options{Engine: agent.Engine(ctx), Policy: policy, Cache: llm.CachePrefix}
	if c, ok := agent.Model.(llm.Cacher); ok {
		o.Cache = c.CacheRule()
	}
	o.Turns, o.Worker = priceOf(list, agent.Model), priceOf(list, agent.Worker)
	return o
}

func priceOf(list prices.List, model llm.Model) *prices.Price {
	if model == nil {
		return nil
	}
	if p, known := list.Of(model.Name()); known {
		return &p
	}
	return nil
}
