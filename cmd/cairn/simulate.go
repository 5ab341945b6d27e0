// cairn simulate: try settings on a recording, without a model.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/chart"
	"cairn/simulate"
	"cairn/store"
)

type simulation struct {
	files        []string
	channel, bot string
	variants     []simulate.Variant
	html, svg    string
	from, to     int64 // the messages that count; 0: the first, the last
}

func newSimulate(a *app) *cobra.Command {
	var s simulation
	cmd := a.withJSON("one JSON object", &cobra.Command{
		Use:   "simulate [FILE… | --channel NAME] [--set KEY=VALUE]… [--vs [--set KEY=VALUE]…]…",
		Short: "Try settings on a recording, without a model",
		Long: `Show what settings would have done with a conversation: when it would have been compacted, how
many tokens would have stayed verbatim, and what the requests would have cost. The real engine
runs in virtual time; it calls no model, changes nothing, and works while the bot runs.

The conversation comes from the database, or from files of recorded messages in the format of
"cairn import". In files, messages of --bot NAME are the bot's answers; without --bot there are
no answers, and the files are simulated as an import.

The current settings, or those of --config FILE, always come first. Each --vs starts a variant:
the current settings, overridden by its --set. KEY is a setting of [defaults.compaction], or
context_window. With --from and --to, only a range of the messages counts; those before it are
replayed, so that the range begins as it did.

A span that was really summarized keeps its summary. Other summaries are extracts; with more than
5000 messages, they are filler text as long as an extract. Money is what the requests would cost
by the price list and the cache rules of the model's provider. If there is a file NAME.qa.jsonl
beside NAME.jsonl, its questions are asked at the end (see docs/tuning.md).`,
		Example: `  cairn simulate --channel garden --vs --set background_threshold=0.6
  cairn simulate talk.jsonl --bot Cairn --vs --set context_window=32000 --vs --set economy=true
  cairn simulate --channel garden --vs --set stack_budget=0.1 --html compare.html
  cairn simulate --channel garden --from 12000 --to 12500 --svg then.svg
  cairn simulate --channel garden --json | jq '.variants[0].levels'`,
		Args: args(0, -1),
		RunE: func(cmd *cobra.Command, files []string) error {
			s.files = files
			if err := s.check(a.json); err != nil {
				return wrongUse(cmd, err)
			}
			return a.simulate(cmd.Context(), s)
		},
	})
	cmd.Flags().StringVar(&s.channel, "channel", "", "`NAME` of the channel (default: the only one, or "+defaultChannel+")")
	cmd.Flags().StringVar(&s.bot, "bot", "", "`NAME` of the bot in the files")
	cmd.Flags().Int64Var(&s.from, "from", 0, "count from message `N` on (default: the first)")
	cmd.Flags().Int64Var(&s.to, "to", 0, "count up to message `N` (default: the last)")
	cmd.Flags().Func("set", "set `KEY=VALUE` in the variant of the last --vs, or in the first one", s.set)
	cmd.Flags().BoolFunc("vs", "start a variant", s.begin)
	cmd.Flags().StringVar(&s.html, "html", "", "write a page with charts and figures to `FILE`; -: standard output, with --json the field html")
	cmd.Flags().StringVar(&s.svg, "svg", "", "write the charts to `FILE`; -: standard output, with --json the field svg")
	return cmd
}

// set and begin collect variants in the order of the command line.
func (s *simulation) set(text string) error {
	key, value, found := strings.Cut(text, "=")
	key = strings.TrimSpace(key)
	if !found || key == "" {
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

func (s simulation) check(asJSON bool) error {
	switch {
	case len(s.files) > 0 && s.channel != "":
		return errors.New("use either files or --channel")
	case len(s.files) == 0 && s.bot != "":
		return errors.New("--bot is only for files: the database knows which messages are the bot's")
	case s.html == "-" && s.svg == "-" && !asJSON:
		return errors.New("only one of --html - and --svg - can go to standard output: name a FILE for the other, or add --json")
	case s.from < 0 || s.to < 0 || s.to > 0 && s.to < s.from:
		return fmt.Errorf("--from %d --to %d is no range of messages", s.from, s.to)
	case len(s.variants) > maxVariants:
		return fmt.Errorf("%d variants are too many: at most %d can be compared", len(s.variants), maxVariants)
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
	messages, err := a.readRecords(s.files)
	if err != nil {
		return rec, nil, err
	}
	if len(messages) == 0 {
		return rec, nil, fmt.Errorf("%s: it has no messages", strings.Join(s.files, ", "))
	}
	if s.bot != "" && !slices.ContainsFunc(messages, func(m channel.Inbound) bool { return strings.EqualFold(m.Author, s.bot) }) {
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
	return simulate.FromFile(filepath.Base(s.files[0]), messages, s.bot), questions, nil
}

func (a *app) runSimulation(ctx context.Context, s simulation, rec simulate.Recording, o simulate.Options) error {
	for _, v := range s.variants {
		if err := o.Check(v); err != nil {
			return usage(fmt.Errorf("--set %w", err))
		}
	}
	rec = rec.Until(s.to)
	o.From = s.from
	show, done := a.progress((len(s.variants) + 1) * len(rec.Messages))
	o.Progress = func(n, _ int) { show(n) }
	report, err := simulate.Run(ctx, rec, s.variants, o)
	done()
	if errors.Is(err, simulate.ErrNoMessages) {
		err = usage(err)
	}
	if err != nil {
		return err
	}
	output := simulated{Report: report}
	if s.svg != "" {
		output.SVG = report.Chart().File()
	}
	if s.html != "" {
		output.HTML, err = output.page()
		if err != nil {
			return err
		}
	}
	for i, to := range []string{s.svg, s.html} {
		text := []*string{&output.SVG, &output.HTML}[i]
		switch {
		case to == "" || to == "-" && a.json: // it is in the object
			continue
		case to == "-":
			_, err = io.WriteString(a.out, *text)
		default:
			err = os.WriteFile(to, []byte(*text), 0o600)
		}
		if err != nil {
			return err
		}
		*text = ""
	}
	if !a.json && (s.svg == "-" || s.html == "-") {
		return nil
	}
	return a.show(a.out, output)
}

// simulated is a report with one column for each variant, and a small chart of each.
type simulated struct {
	simulate.Report
	SVG  string `json:"svg,omitempty"`
	HTML string `json:"html,omitempty"`
}

func (s simulated) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, #%d to #%d\n\n", s.Name, counted(s.Messages, "message", "messages"), s.From, s.To)
	b.WriteString(table(s.Rows()).aligned("lr"))
	if s.Happened > 0 {
		fmt.Fprintf(&b, "\n%s: same trigger, kind and messages.\n", s.reproduced())
	}
	b.WriteString("\nused tokens over messages, up to the window:\n")
	var charts table
	for _, v := range s.Variants {
		charts = append(charts, []string{"  " + v.Name, sparkline(v, 60)})
	}
	b.WriteString(charts.aligned("l"))
	return strings.TrimRight(b.String(), "\n")
}

func (s simulated) reproduced() string {
	return fmt.Sprintf("Of %s that really happened, the current settings reproduce %d", counted(s.Happened, "compaction", "compactions"), s.Equal)
}

const simulationCSS = `:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
.figures { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.9rem 0.2rem 0; text-align: right; border-bottom: 1px solid #8884; }
th[scope=row] { text-align: left; font-weight: normal; white-space: pre; }
`

// page returns a self-contained page without scripts.
func (s simulated) page() (string, error) {
	rows := s.Rows()
	about := fmt.Sprintf("%s, #%d to #%d, simulated without a model.", counted(s.Messages, "message", "messages"), s.From, s.To)
	if s.Happened > 0 {
		about += " " + s.reproduced() + "."
	}
	head := func(name string) g.Node { return h.Th(h.Scope("col"), g.Text(name)) }
	cell := func(value string) g.Node { return h.Td(g.Text(value)) }
	var b strings.Builder
	err := h.Doctype(h.HTML(
		h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.TitleEl(g.Text(s.Name+": settings compared")),
			h.StyleEl(g.Raw(simulationCSS+chart.CSS)),
		),
		h.Body(
			h.H1(g.Text(s.Name)),
			h.P(g.Text(about)),
			g.Raw(s.Chart().SVG()), // the chart escapes its input
			h.Div(h.Class("figures"), h.Table(
				h.THead(h.Tr(g.Map(rows[0], head))),
				h.TBody(g.Map(rows[1:], func(row []string) g.Node {
					return h.Tr(h.Th(h.Scope("row"), g.Text(row[0])), g.Map(row[1:], cell))
				})),
			)),
		),
	)).Render(&b)
	return b.String(), err
}
