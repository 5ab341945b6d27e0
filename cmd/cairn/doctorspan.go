// The known span: a conversation that cairn doctor has each summarizing model summarize, to see whether the model is good enough.

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"cairn/channel"
	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/compactor/worker"
	"cairn/llm"
	"cairn/memory"
	"cairn/simulate"
	"cairn/store"
)

// knownSpan is the conversation. All people and places are invented.
const knownSpan = `Ada: hi all, the summer fair needs a date. I had the 5th of September in mind
Ben: the 5th is bad for me, my sister marries that day
Mara: Saturday 12 September would work for me
Ada: 12 September then? any objections?
Ben: none from me
Mara: fine. by the way, did anybody see the hedgehog behind the shed again?
Ben: twice this week! it seems to like the compost
Ada: decided: the fair is on Saturday 12 September
Ilya: sorry, only reading this now. 12 September is good. where do we hold it?
Ada: I asked about Mill Hall, they want 480 euro for the day
Ben: that is a lot. the school gym would be 200
Mara: the gym has no kitchen, and we said that we want to sell soup
Ben: true. then Mill Hall, I suppose
Ada: ok, Mill Hall for 480 euro. Tessa Brandt has the key, she lives at number 9
Ilya: it is raining cats and dogs here, hope September is better
Ilya: who plays? last year there was no music
Mara: my cousin's band, the Copper Foxes, would play two hours for 300 euro
Ada: I like them. let us book the Copper Foxes
Ben: agreed. please no walnut cake this time, I am allergic to walnuts
Mara: noted, no walnuts. I will bake apple cake
Ada: chairs? the hall has only 20
Ilya: the school lends us 60 chairs, I can fetch them with the van on Friday
Ben: great. and parking? the bridge at the mill is closed until October
Ada: then people have to come by tram, line 14 stops at the church
Mara: I still do not know who insures the stage. Ilya, could you ask?
Ilya: I will get an offer for the insurance by 20 August
Ben: thanks. I go to bed now, good night
Mara: good night!`

// knownFacts are what a summary of the known span, with its memories, should say: a fact is kept if words there begin with each of its.
var knownFacts = []struct {
	fact  string
	words []string
}{
	{"the date of the fair", []string{"12", "sep"}},
	{"the hall", []string{"mill hall"}},
	{"the price of the hall", []string{"480"}},
	{"who has the key", []string{"tessa"}},
	{"the band", []string{"copper foxes"}},
	{"Ben's allergy", []string{"walnut"}},
	{"the borrowed chairs", []string{"60"}},
	{"how people come", []string{"14"}},
	{"Ilya's promise", []string{"ilya", "20"}},
}

// enoughFacts is the share of the facts that a good summary keeps; as many of its lines must rest on messages. It is the share of a
// sentence that counts as kept in the other measurements of summaries, see simulate.Told.
const enoughFacts = 2. / 3.

const (
	knownPct    = 35      // of its tokens that the summary of the known span should have: room for all facts
	knownWindow = 128_000 // of the chat's model, in tokens: nothing is cut
)

// spanTrial is what a model made of the known span.
type spanTrial struct {
	summary  summarize.Summary
	failure  error // why there is no summary
	made     bool
	memories []string
	requests int
	used     llm.Usage
	took     time.Duration
}

// trySpan has the agent's worker summarize the known span, in a store of its own.
func trySpan(ctx context.Context, agent channel.Agent) (t *spanTrial, err error) {
	t = new(spanTrial)
	err = withTemporaryStore(ctx, func(db *store.Store) error {
		conversation, err := db.Conversation(ctx, "terminal:known-span")
		if err == nil {
			_, err = conversation.Past().Import(ctx, knownMessages())
		}
		if err == nil {
			err = t.summarize(ctx, agent, conversation)
		}
		if err != nil {
			return err
		}
		saved, _, err := memory.Of(conversation).List(ctx, memory.Filter{})
		for _, m := range saved {
			if m.By == string(compactor.ByWorker) {
				t.memories = append(t.memories, m.Content)
			}
		}
		return err
	})
	return t, err
}

// withTemporaryStore opens a store that vanishes again.
func withTemporaryStore(ctx context.Context, do func(*store.Store) error) (err error) {
	dir, err := os.MkdirTemp("", "cairn-doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := store.Open(ctx, store.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db)
}

func knownMessages() (all []store.Inbound) {
	at := time.Date(2026, 7, 13, 18, 0, 0, 0, time.UTC)
	for i, line := range strings.Split(knownSpan, "\n") {
		author, text, _ := strings.Cut(line, ": ")
		all = append(all, store.Inbound{ID: fmt.Sprint("known-", i), Author: author, AuthorID: "known-" + author, Text: text, Time: at.Add(time.Duration(i) * time.Minute)})
	}
	return all
}

// summarize runs one compaction, up to the first attempt of the worker, apart from when it is due as in a running bot.
func (t *spanTrial) summarize(ctx context.Context, agent channel.Agent, conversation *store.Conversation) error {
	usual := compactor.DefaultPolicy()
	policy := agent.Policy()
	policy.KeepFirst = 0
	policy.KeepFirstTurns = 0
	policy.KeepLastN = 0
	policy.KeepLastTurns = 0
	policy.Strategy = worker.StrategyWorker
	policy.TargetPct = knownPct // settings that leave less room say nothing about the model
	policy.MaxSummary = usual.MaxSummary
	policy.StackBudget = usual.StackBudget
	o := agent.Engine(ctx)
	o.Window = func() int { return knownWindow }
	o.Records = memory.Of(conversation).Records()
	o.Policy = func() compactor.Policy { return policy }
	o.Fallback = nil // the model itself is tried
	o.Strategy = func(name string) worker.Strategy { return observed{worker.StrategyOf(name), t} }
	o.Spend = func(counts bool) error {
		if counts {
			t.requests++
		}
		return nil
	}
	o.Spent = func(_ string, used llm.Usage) {
		t.used.Prompt += used.Prompt
		t.used.Completion += used.Completion
	}
	o.Log = slog.New(slog.DiscardHandler)
	engine, err := compactor.Open(ctx, o)
	if err != nil {
		return err
	}
	defer engine.Close()
	engine.Compact(compactor.Requested{Trigger: compactor.OnManual})
	for engine.Busy() && t.failure == nil {
		for _, work := range engine.Work() {
			engine.Done(work.Run())
		}
	}
	if !t.made {
		return errors.New("the known span was not summarized")
	}
	return nil
}

// observed is a strategy whose first summary is kept.
type observed struct {
	worker.Strategy
	trial *spanTrial
}

// Summarize implements worker.Strategy.
func (o observed) Summarize(ctx context.Context, m worker.Material) (summarize.Summary, error) {
	start := time.Now()
	s, err := o.Strategy.Summarize(ctx, m)
	if !o.trial.made {
		o.trial.made = true
		o.trial.summary = s
		o.trial.failure = err
		o.trial.took = time.Since(start)
	}
	return s, err
}

// missing returns the known facts that neither summary nor memories have.
func (t *spanTrial) missing() (facts []string) {
	text := simulate.WithoutCitations(t.summary.Text) + "\n" + strings.Join(t.memories, "\n")
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	text = " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), between), " ")
	for _, known := range knownFacts {
		if slices.ContainsFunc(known.words, func(word string) bool { return !strings.Contains(text, " "+word) }) {
			facts = append(facts, known.fact)
		}
	}
	return facts
}

// verdict describes the trial; enough is whether the model is good enough to summarize.
func (t *spanTrial) verdict() (words string, enough bool) {
	cost := fmt.Sprintf("%d messages in %v; %s, %d tokens sent and %d received", strings.Count(knownSpan, "\n")+1, t.took.Round(time.Millisecond), counted(t.requests, "request", "requests"), t.used.Prompt, t.used.Completion)
	if t.failure != nil {
		return fmt.Sprintf("its summary of a known conversation was refused: %v (%s)", t.failure, cost), false
	}
	unsupported := t.summary.Dropped
	for _, l := range t.summary.Lines {
		if !l.HasEvidence() {
			unsupported++
		}
	}
	lines := len(t.summary.Lines) + t.summary.Dropped
	missing := t.missing()
	kept := len(knownFacts) - len(missing)
	lost := ""
	if len(missing) > 0 {
		lost = ", without " + strings.Join(missing, ", ")
	}
	words = fmt.Sprintf("it summarized a known conversation of %s; known facts kept: %d of %d%s; lines that rest on messages: %d of %d; %s saved",
		cost, kept, len(knownFacts), lost, lines-unsupported, lines, counted(len(t.memories), "memory", "memories"))
	enough = float64(kept) >= enoughFacts*float64(len(knownFacts)) && float64(lines-unsupported) >= enoughFacts*float64(lines)
	return words, enough
}
