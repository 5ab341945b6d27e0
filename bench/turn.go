package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const turnHelp = `Turn builds cairn, starts it as "cairn chat --json" with a model on loopback that answers at once,
and has conversations side by side with it, each of them so many turns long. What people write
and what the model answers has %d characters; one word in %d is a name or a number that
nobody used before. At the end a prompt has about %s tokens with the defaults, and no
window is so full that it is compacted.

What is measured is the processor's time of the process that was started, the kernel's share and
its start included, for one turn: from a line on its standard input to the reply on its
standard output. The files lie where those of "bench overhead" do.

The targets are at most %.0f ms of the processor for a turn, at least %.0f turns a second and at
most %.0f MiB of resident memory, with the defaults of --channels and --turns; a run that misses
one ends with 3.`

const (
	turnGoal     = 3.0   // ms of the processor for one turn
	turnRate     = 300.0 // turns a second, of all conversations
	turnMemory   = 60.0  // MiB, resident
	turnChars    = 400   // of a message, and of an answer
	turnInvented = 20    // one word in so many is new
)

// turning is what `turn` is asked for.
type turning struct {
	channels, turns int
	json            bool
}

func newTurn(s *screen) *cobra.Command {
	var o turning
	cmd := &cobra.Command{
		Use:   "turn",
		Short: "What a turn costs the processor in the shipped program",
		Long:  fmt.Sprintf(turnHelp, turnChars, turnInvented, thousands(12_000), turnGoal, turnRate, turnMemory),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.channels < 1 || o.channels > 1000:
				return wrongFlag(cmd, "channels", o.channels, "from 1 to 1000")
			case o.turns < 1 || o.turns > 10_000:
				return wrongFlag(cmd, "turns", o.turns, "from 1 to 10000")
			}
			return o.run(cmd.Context(), s)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.channels, "channels", 50, "`N` conversations")
	flags.IntVar(&o.turns, "turns", 50, "`N` turns in each")
	flags.BoolVar(&o.json, "json", false, "write JSON")
	return cmd
}

// turned is the whole result.
type turned struct {
	Channels int     `json:"channels"`
	Turns    int     `json:"turns"`         // in all
	CPU      float64 `json:"cpu_ms"`        // of a turn
	User     float64 `json:"user_ms"`       // of which outside of the kernel
	Largest  int     `json:"largest_bytes"` // request
	Resident float64 `json:"resident_mib"`  // at the most
	Rate     float64 `json:"turns_per_second"`
	Load     string  `json:"load,omitempty"`
	Targets  []goal  `json:"targets"`
}

func (o turning) run(ctx context.Context, s *screen) (err error) {
	defer s.done()
	dir, err := os.MkdirTemp(inMemory(), "cairn-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s.progress("cairn is being built")
	binary := filepath.Join(dir, "cairn")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "cairn/cmd/cairn").CombinedOutput(); err != nil {
		return fmt.Errorf("build cairn: %w\n%s", err, out)
	}
	result, err := o.measure(ctx, s, dir, binary)
	if err != nil {
		return err
	}
	s.done()
	if o.json {
		err = s.json(result)
	} else {
		_, err = fmt.Fprint(s.out, result.table(s))
	}
	return errors.Join(err, unmet(result.Targets))
}

// measure has the conversations and counts what the process used.
func (o turning) measure(ctx context.Context, s *screen, dir, binary string) (result turned, err error) {
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), nil, 0o600); err != nil {
		return result, err
	}
	model := &instantModel{answer: fresh(rand.New(rand.NewPCG(1, 2)), turnChars)}
	server := httptest.NewServer(model)
	defer server.Close()
	cmd := exec.CommandContext(ctx, binary, "chat", "--json", "--data", filepath.Join(dir, "data"), "--config", filepath.Join(dir, "config.toml"))
	cmd.Dir = dir
	cmd.Env = append(withoutModels(os.Environ()), "OPENAI_API_KEY=bench", "OPENAI_BASE_URL="+server.URL+"/v1", "OPENAI_MODEL="+instantName)
	var told strings.Builder
	cmd.Stderr = &told
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		return result, err
	}
	begun := time.Now()
	err = o.talk(s, in, bufio.NewReaderSize(out, 1<<20))
	took := time.Since(begun)
	err = errors.Join(err, in.Close())
	_, _ = io.Copy(io.Discard, out) // what it says while it ends
	if err = errors.Join(err, cmd.Wait()); err != nil {
		return result, fmt.Errorf("%w\n%s", err, told.String())
	}
	all := o.channels * o.turns
	each := func(d time.Duration) float64 { return ms(d) / float64(all) }
	user, kernel := cmd.ProcessState.UserTime(), cmd.ProcessState.SystemTime()
	result = turned{Channels: o.channels, Turns: all, CPU: each(user + kernel), User: each(user), Largest: int(model.largest.Load()), Resident: largestResident(cmd.ProcessState), Rate: float64(all) / took.Seconds(), Load: busyMachine()}
	result.Targets = []goal{
		atMost("ms of the processor for a turn", result.CPU, turnGoal, turnGoal),
		atLeast("turns a second", result.Rate, turnRate, turnRate),
		atMost("MiB of resident memory, at the most", result.Resident, turnMemory, turnMemory),
	}
	return result, nil
}

// talk says one thing in each conversation and waits for all replies, again and again.
func (o turning) talk(s *screen, in io.Writer, out *bufio.Reader) error {
	words := rand.New(rand.NewPCG(1, 1))
	for turn := range o.turns {
		s.progress("turn %d of %d in each of %d conversations", turn+1, o.turns, o.channels)
		for c := range o.channels {
			r := request{Channel: fmt.Sprint("c", c), User: "Ada", Text: fresh(words, turnChars), ID: fmt.Sprintf("m%d-%d", c, turn), Mention: true}
			if _, err := io.WriteString(in, r.line()); err != nil {
				return fmt.Errorf("speak to cairn: %w", err)
			}
		}
		for answered := 0; answered < o.channels; {
			text, err := out.ReadBytes('\n')
			if err != nil {
				return fmt.Errorf("%d of %d were answered in turn %d: %w", answered, o.channels, turn+1, err)
			}
			var line struct {
				Type, Text string
				To         []string
			}
			switch err := json.Unmarshal(text, &line); {
			case err != nil:
				return fmt.Errorf("read what cairn says: %w", err)
			case line.Type == "error":
				return fmt.Errorf("cairn says: %s", line.Text)
			case line.Type == "reply":
				answered += len(line.To)
			}
		}
	}
	return nil
}

// fresh is a text of so many characters, with words that nobody used before.
func fresh(words *rand.Rand, chars int) string {
	var b strings.Builder
	for b.Len() < chars {
		if words.IntN(turnInvented) == 0 {
			fmt.Fprintf(&b, "%c%x ", 'g'+rune(words.IntN(20)), words.IntN(1<<24))
			continue
		}
		b.WriteString(vocabulary[words.IntN(len(vocabulary))] + " ")
	}
	return strings.TrimSpace(b.String()[:chars])
}

// withoutModels is an environment without what it says of models and doors.
func withoutModels(environment []string) (rest []string) {
	for _, v := range environment {
		if name, _, _ := strings.Cut(v, "_"); name != "OPENAI" && name != "ANTHROPIC" && name != "DISCORD" && name != "SLACK" {
			rest = append(rest, v)
		}
	}
	return rest
}

// table is the result as people read it.
func (r turned) table(s *screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s turns in %d conversations side by side\n\n", s.paint(bold, "a turn in the shipped program"), thousands(r.Turns), r.Channels)
	fmt.Fprintf(&b, "%s%s\n", left("processor's time", 28), s.paint(bold, right(fmt.Sprintf("%.2f ms", r.CPU), 10)))
	fmt.Fprintf(&b, "%s%s\n", left("outside of the kernel", 28), right(fmt.Sprintf("%.2f ms", r.User), 10))
	fmt.Fprintf(&b, "%s%s\n\n", left("the largest request", 28), right(fmt.Sprintf("%.0f kB", float64(r.Largest)/1000), 10))
	for _, target := range r.Targets {
		fmt.Fprintln(&b, verdict(s, target))
	}
	return b.String()
}
