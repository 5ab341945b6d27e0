package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"cairn/llm/llmtest"
)

const modelsHelp = `Models has a long conversation with each of these models, over servers on loopback that are as
strict as the providers' documentation: %s.
They refuse what the model refuses, count tokens, and cache prompts by the provider's rule.

A recording is imported into a window of %s tokens, summarized by the same model; then come
--turns turns, a third with tools. Messages are edited and deleted, also the first one, and
questions whose answers stay, also in the middle of a turn, but for --calm. The bot is restarted twice. One more
conversation switches from provider to provider and back.

  learned    requests that were refused and taught Cairn what the model demands, once or, where
             a turn and a summary asked at the same time, twice
  refused    others
  changes    how often the head changed: a summary was applied, a message edited or deleted
  extend     requests of turns that extend the one before
  broken     those that do not, without such a change
  cached     share of the input that was read from the provider's cache
  usage      whether what Cairn stored equals what the server counted: input, cached, written, output
  gauge      by how much the tokens that Cairn shows differ from those that the server counts for
             the next request, in the mean and at the most

` + recordingsHelp + `
Without DIR an invented conversation is imported.

The target is that every turn is answered, nothing refused or broken, the usage equal, and the
gauge within %g %% in the mean for models that think; a run that misses it ends with 3.`

//go:embed testdata/*.jsonl
var inventedFiles embed.FS

// conversing is what `models` is asked for.
type conversing struct {
	turns int
	only  []string
	calm  bool
	json  bool
}

func newModels(s *screen) *cobra.Command {
	var o conversing
	cmd := &cobra.Command{
		Use:   "models [DIR]",
		Short: "Whether long conversations go on with each kind of model",
		Long:  fmt.Sprintf(modelsHelp, strings.Join(llmtest.Profiles(), ", "), thousands(modelsWindow), gaugeGoal),
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.turns < 1 || o.turns > 100_000 {
				return wrongFlag(cmd, "turns", o.turns, "from 1 to 100000")
			}
			trials, err := trialsOf(o.only)
			if err != nil {
				return wrongUse(cmd, err)
			}
			r, err := recordingFor(args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), s, trials, r)
		},
	}
	cmd.Flags().IntVar(&o.turns, "turns", 100, "`N` turns with each model")
	cmd.Flags().StringSliceVar(&o.only, "only", nil, "`NAME,…` of the conversations to have; all without it")
	cmd.Flags().BoolVar(&o.calm, "calm", false, "nothing is edited or deleted")
	cmd.Flags().BoolVar(&o.json, "json", false, "write JSON")
	return cmd
}

// trialsOf returns the trials of these names, all if there are none.
func trialsOf(names []string) (chosen []modelTrial, err error) {
	if len(names) == 0 {
		return modelTrials(), nil
	}
	var known []string
	for _, t := range modelTrials() {
		known = append(known, t.name)
	}
	for _, name := range names {
		found := false
		for _, t := range modelTrials() {
			if t.name == name {
				chosen, found = append(chosen, t), true
			}
		}
		if !found {
			return nil, fmt.Errorf("--only %s: choose from %s", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

// recordingFor is the longest recording of a folder; without one, the invented ones
// one after the other.
func recordingFor(args []string) (longest recording, err error) {
	var all []recording
	if len(args) > 0 {
		if all, err = readRecordings(args[0]); err != nil {
			return longest, err
		}
		for _, r := range all {
			if len(r.said) > len(longest.said) {
				longest = r
			}
		}
		return longest, nil
	}
	return inventedTalk()
}

// inventedTalk is the talk of testdata, as one recording.
func inventedTalk() (r recording, err error) {
	r.name = "invented"
	files, err := fs.Glob(inventedFiles, "testdata/*.jsonl")
	if err != nil {
		return r, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, ".qa.jsonl") {
			continue
		}
		file, err := inventedFiles.Open(name)
		if err != nil {
			return r, err
		}
		said, err := decodeLines[utterance](file, name)
		if err = errors.Join(err, file.Close()); err != nil {
			return r, err
		}
		for _, u := range said {
			u.ID = name + ":" + u.ID
			r.said = append(r.said, u)
		}
	}
	return r, nil
}

// conversed is the whole result.
type conversed struct {
	Recording string   `json:"recording"`
	Imported  int      `json:"imported"`
	Turns     int      `json:"turns"`
	Window    int      `json:"window"`
	Trials    []tried  `json:"models"`
	Failures  []string `json:"failures"`
	Target    goal     `json:"target"`
	Load      string   `json:"load,omitempty"`
}

func (o conversing) run(ctx context.Context, s *screen, trials []modelTrial, r recording) error {
	defer s.done()
	result := conversed{Recording: r.name, Imported: len(r.said), Turns: o.turns, Window: modelsWindow, Failures: []string{}}
	for _, t := range trials {
		one, err := t.have(ctx, s, r, o.turns, o.calm)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		result.Trials = append(result.Trials, one)
		for _, why := range one.Failures {
			result.Failures = append(result.Failures, t.name+": "+why)
		}
	}
	result.Target = atMost("failures", float64(len(result.Failures)), 0, 0)
	result.Load = busyMachine()
	s.done()
	return s.conclude(o.json, result, []goal{result.Target})
}

// modelColumns are the table's columns and their widths.
var modelColumns = []struct {
	name  string
	width int
}{
	{"answered", 10},
	{"requests", 10},
	{"worker's", 10},
	{"learned", 9},
	{"refused", 9},
	{"changes", 9},
	{"extend", 8},
	{"broken", 8},
	{"input", 12},
	{"cached", 8},
	{"output", 10},
	{"usage", 8},
	{"gauge", 16},
}

// table is the result as people read it.
func (r conversed) table(s *screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s messages of %s imported, %d turns, a window of %s\n\n", s.paint(bold, "conversations with strict models"),
		thousands(r.Imported), r.Recording, r.Turns, thousands(r.Window))
	heading := left("", nameWidth)
	for _, c := range modelColumns {
		heading += right(c.name, c.width)
	}
	b.WriteString(s.paint(dim, heading) + "\n")
	for _, t := range r.Trials {
		color := green
		if len(t.Failures) > 0 {
			color = red
		}
		line := left(t.Name, nameWidth)
		for i, value := range t.row() {
			line += right(value, modelColumns[i].width)
		}
		b.WriteString(s.paint(color, line) + "\n")
	}
	b.WriteByte('\n')
	for _, t := range r.Trials {
		for _, why := range t.Learned {
			fmt.Fprintf(&b, "%s learned: %s\n", t.Name, why)
		}
	}
	for _, why := range r.Failures {
		fmt.Fprintln(&b, s.paint(red, why))
	}
	fmt.Fprintf(&b, "\n%s\n", verdict(s, r.Target))
	return b.String()
}
