// cairn usage, simulate: what the models were used for, and what other settings would have done.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/compactor"
	"cairn/simulate"
	"cairn/store"
)

func newUsage(a *app) *cobra.Command {
	since, by := "", "day"
	cmd := a.withJSON("one JSON object", &cobra.Command{
		Use:   "usage [--since TIME] [--by day|conversation|model] [--json]",
		Short: "Show model usage and its cost",
		Long: `Show the tokens that models used, and their cost. INPUT includes tokens read from the
provider's cache (CACHED) and written to it (WRITTEN); COST includes summaries (SUMMARIES). Days
are those of time_zone.

Token counts are the provider's. Prices are built in; [prices] in the settings adds or overrides
them. A model without a price counts as 0, and is named. It works while the bot runs.`,
		Example: `  cairn usage --since 7d
  cairn usage --since 2026-11-01 --by model
  cairn usage --by conversation --json | jq '.rows[0].cost'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withPast(cmd, since, "", func(db *store.Store, from time.Time, _ string) error {
				day := ""
				if !from.IsZero() {
					day = store.Day(from)
				}
				used, err := db.Usage(cmd.Context(), day)
				if err != nil {
					return err
				}
				return a.show(a.out, report{channel.NewUsageReport(used, day, by, a.settings.Money().Prices)})
			})
		},
	})
	cmd.Flags().StringVar(&since, "since", "", "only from the day of `TIME` on: 2026-05-08, 36h, 7d, 2w (default: all time)")
	cmd.Flags().Func("by", "one row for each `KEY`: day, conversation or model (day)", oneOf(&by, channel.UsageKeys))
	return cmd
}

type report struct{ channel.UsageReport }

func (r report) String() string {
	if len(r.Rows) == 0 {
		if r.Since == "" {
			return "No model has been used yet."
		}
		return "No model has been used since " + r.Since + "."
	}
	t := table{{strings.ToUpper(r.By), "REQUESTS", "INPUT", "CACHED", "WRITTEN", "OUTPUT", "COST", "SUMMARIES"}}
	for _, row := range r.Rows {
		t = append(t, columns(row.Key(), row.Expenses))
	}
	text := strings.TrimSuffix(append(t, columns("total", r.Total)).aligned("lr"), "\n")
	for _, model := range r.NoPrice {
		text += fmt.Sprintf("\nno price for %s: it counts as 0; set [prices.%q] in the settings", model, model)
	}
	return text
}

func columns(name string, e channel.Expenses) []string {
	cells := []string{name}
	for _, n := range []int64{e.Requests, e.Input, e.Cached, e.Written, e.Output} {
		cells = append(cells, fmt.Sprint(n))
	}
	return append(cells, fmt.Sprintf("%.4f", e.Cost), fmt.Sprintf("%.4f", e.Summaries.Cost))
}

type simulation struct {
	files        []string
	channel, bot string
	variants     []simulate.Variant
	svg          string
}

func newSimulate(a *app) *cobra.Command {
	var s simulation
	cmd := a.withJSON("one JSON object", &cobra.Command{
		Use:   "simulate [FILE… | --channel NAME] [--set KEY=VALUE]… [--vs [--set KEY=VALUE]…]…",
		Short: "Try settings on a recording, without a model",
		Long: `Show what settings would have done with a conversation: when it would have been compacted, how
many tokens would have stayed verbatim, and what the requests would have cost. The real engine
runs in virtual time; it calls no model, changes nothing, and works while the bot runs.

The conversation comes from the database, or from files in the format of "cairn import", in which
the messages of --bot NAME are answers; without --bot there are none, as in an import. Questions
in a file NAME.qa.jsonl beside NAME.jsonl are asked at the end (see docs/tuning.md).

The current settings always come first. Each --vs starts a variant: the current settings,
overridden by its --set. KEY is a setting of [defaults.compaction], or context_window.`,
		Example: `  cairn simulate --channel garden --vs --set background_threshold=0.6
  cairn simulate talk.jsonl --bot Cairn --vs --set context_window=32000 --vs --set economy=true
  cairn simulate --channel garden --vs --set stack_budget=0.1 --svg compare.svg
  cairn simulate --channel garden --json | jq '.variants[0].levels'`,
		Args: args(0, -1),
		RunE: func(cmd *cobra.Command, files []string) error {
			s.files = files
			if err := s.check(); err != nil {
				return wrongUse(cmd, err)
			}
			return a.simulate(cmd.Context(), s)
		},
	})
	cmd.Flags().StringVar(&s.channel, "channel", "", "`NAME` of the channel (default: the only one, or "+defaultChannel+")")
	cmd.Flags().StringVar(&s.bot, "bot", "", "`NAME` of the bot in the files")
	cmd.Flags().Func("set", "set `KEY=VALUE` in the variant of the last --vs, or in the first one", s.set)
	cmd.Flags().BoolFunc("vs", "start a variant", s.begin)
	cmd.Flags().StringVar(&s.svg, "svg", "", "write charts of the tokens over the messages to `FILE`")
	return cmd
}

// set and begin collect variants in the order of the command line.
func (s *simulation) set(text string) error {
	key, value, found := strings.Cut(text, "=")
	if key = strings.TrimSpace(key); !found || key == "" {
		return fmt.Errorf("%q: write it as KEY=VALUE, such as background_threshold=0.6", text)
	}
	if len(s.variants) == 0 {
		s.variants = append(s.variants, simulate.Variant{Set: compactor.Patch{}})
	}
	s.variants[len(s.variants)-1].Set[key] = strings.Trim(strings.TrimSpace(value), `"`)
	return nil
}

func (s *simulation) begin(text string) error {
	if text != "true" {
		return errors.New("--vs takes no value: it starts a variant, whose settings follow as --set KEY=VALUE")
	}
	s.variants = append(s.variants, simulate.Variant{Set: compactor.Patch{}})
	return nil
}

// maxVariants limits a comparison: a table has no room for more.
const maxVariants = 8

func (s simulation) check() error {
	switch {
	case len(s.files) > 0 && s.channel != "":
		return errors.New("use either files or --channel")
	case len(s.files) == 0 && s.bot != "":
		return errors.New("--bot is only for files: the database knows which messages are the bot's")
	case len(s.variants) > maxVariants:
		return fmt.Errorf("%d variants are too many: at most %d are compared at once", len(s.variants), maxVariants)
	}
	return nil
}

func (a *app) simulate(ctx context.Context, s simulation) error {
	if len(s.files) > 0 {
		rec, questions, err := a.recordingOf(s)
		if err != nil {
			return err
		}
		agents, _, err := a.agents(ctx, nil)
		if err != nil {
			return err
		}
		agent := agents.In("terminal:simulate")
		o := simulate.OptionsOf(ctx, agent, agent.Policy(), a.settings.Money().Prices)
		o.Questions = questions
		return a.runSimulation(ctx, s, rec, o)
	}
	return a.withAgent(ctx, s.channel, func(_ *store.Store, conversation *store.Conversation, agent channel.Agent) error {
		rec, err := simulate.Read(ctx, conversation)
		if err != nil {
			return err
		}
		policy, err := agent.PolicyOf(ctx, conversation)
		if err != nil {
			return err
		}
		return a.runSimulation(ctx, s, rec, simulate.OptionsOf(ctx, agent, policy, a.settings.Money().Prices))
	})
}

// recordingOf reads the files into a recording.
func (a *app) recordingOf(s simulation) (rec simulate.Recording, questions []simulate.Question, err error) {
	said, err := a.readRecords(s.files)
	if err != nil {
		return rec, nil, err
	}
	if len(said) == 0 {
		return rec, nil, fmt.Errorf("%s: it has no messages", strings.Join(s.files, ", "))
	}
	if s.bot != "" && !slices.ContainsFunc(said, func(m channel.Inbound) bool { return strings.EqualFold(m.Author, s.bot) }) {
		return rec, nil, usage(fmt.Errorf("--bot %q: no one in the files has that name", s.bot))
	}
	for _, file := range s.files {
		beside := strings.TrimSuffix(file, ".jsonl") + ".qa.jsonl"
		if _, err := os.Stat(beside); err != nil || beside == file {
			continue
		}
		lines, err := readLines[simulate.Question](beside, a.in)
		for _, l := range lines {
			if strings.TrimSpace(l.value.Text) == "" {
				return rec, nil, l.wrong(errors.New(`"question" is missing`))
			}
			questions = append(questions, l.value)
		}
		if err != nil {
			return rec, nil, err
		}
	}
	return simulate.FromFile(filepath.Base(s.files[0]), said, s.bot), questions, nil
}

func (a *app) runSimulation(ctx context.Context, s simulation, rec simulate.Recording, o simulate.Options) error {
	for _, v := range s.variants {
		if err := o.Check(v); err != nil {
			return usage(fmt.Errorf("--set %w", err))
		}
	}
	show, done := a.progress((len(s.variants) + 1) * len(rec.Messages))
	o.Progress = func(n, _ int) { show(n) }
	report, err := simulate.Run(ctx, rec, s.variants, o)
	done()
	if err != nil {
		return err
	}
	if s.svg != "" {
		if err := os.WriteFile(s.svg, []byte(report.Chart().File()), 0o600); err != nil {
			return err
		}
	}
	return a.show(a.out, simulated{report})
}

// simulated is a report with one column for each variant.
type simulated struct{ simulate.Report }

func (s simulated) String() string {
	text := fmt.Sprintf("%s: %s\n\n%s", s.Name, counted(s.Messages, "message", "messages"), table(s.Rows()).aligned("lr"))
	if s.Happened > 0 {
		text += fmt.Sprintf("\nOf %s that really happened, the settings in force reproduce %d: same trigger, kind and messages.",
			counted(s.Happened, "compaction", "compactions"), s.Equal)
	}
	return strings.TrimRight(text, "\n")
}
