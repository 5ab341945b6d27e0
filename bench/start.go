package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/compactor"
	"cairn/memory"
)

const startHelp = `Start builds cairn, fills a data folder with so many messages, in one channel, which
is summed up meanwhile, and another folder with as many in channels of %d. Then it
starts "cairn chat --json" on them again and again, each time with one message waiting on its
standard input, and takes the time from the start of the process to the line that tells the
message's place: then the database is open and checked for what was left behind, the channel
is read, and the bot answers. The start after a kill has the write-ahead log to read, and
a turn to take up.

The median of %d starts counts. The target is less than %.0f ms; a run that misses it ends with 3.`

const (
	starts     = 11
	startGoal  = 100.0 // ms
	perChannel = 100   // messages, where they are spread
)

// starting is what "start" is asked for.
type starting struct {
	messages int
	json     bool
}

func newStart(s *screen) *cobra.Command {
	var o starting
	cmd := &cobra.Command{
		Use:   "start",
		Short: "How long cairn takes to be ready",
		Long:  fmt.Sprintf(startHelp, perChannel, starts, startGoal),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.messages < 2*perChannel || o.messages > 10_000_000 {
				return wrongFlag(cmd, "messages", o.messages, fmt.Sprintf("from %d to 10000000", 2*perChannel))
			}
			return o.run(cmd.Context(), s)
		},
	}
	cmd.Flags().IntVar(&o.messages, "messages", 100_000, "`N` messages in a data folder")
	cmd.Flags().BoolVar(&o.json, "json", false, "write JSON")
	return cmd
}

// started is the whole result.
type started struct {
	Messages int     `json:"messages"`
	Shapes   []onset `json:"shapes"`
	Load     string  `json:"load,omitempty"` // of the machine
	Targets  []goal  `json:"targets"`
}

// onset is how long the start took in one shape of a data folder.
type onset struct {
	Shape  string  `json:"shape"`
	Median float64 `json:"median_ms"`
	Most   float64 `json:"most_ms"`
	CPU    float64 `json:"cpu_ms"` // of the whole run, the answer and the end included; the median
}

func (o starting) run(ctx context.Context, s *screen) (err error) {
	defer s.done()
	dir, err := os.MkdirTemp("", "cairn-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s.progress("cairn is being built")
	binary := filepath.Join(dir, "cairn")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "cairn/cmd/cairn").CombinedOutput(); err != nil {
		return fmt.Errorf("build cairn: %w\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), nil, 0o600); err != nil { // else the one of the folder it is started in counts
		return err
	}
	result := started{Messages: o.messages}
	for _, shape := range []struct {
		name     string
		channels int
		killed   bool
	}{{"in one channel", 1, false}, {"the same after a kill", 1, true}, {"in " + thousands(o.messages/perChannel) + " channels", o.messages / perChannel, false}} {
		data := filepath.Join(dir, fmt.Sprint(shape.channels))
		if _, err := os.Stat(data); err != nil {
			if err := o.fill(ctx, s, data, shape.channels); err != nil {
				return err
			}
		}
		on, err := begin(ctx, s, binary, data, shape.killed)
		if err != nil {
			return err
		}
		on.Shape = shape.name
		result.Shapes = append(result.Shapes, on)
		result.Targets = append(result.Targets, atMost("ms to be ready, "+thousands(o.messages)+" messages "+shape.name, on.Median, startGoal, startGoal/2))
	}
	result.Load = busyMachine()
	s.done()
	if o.json {
		err = s.json(result)
	} else {
		_, err = fmt.Fprint(s.out, result.table(s))
	}
	return errors.Join(err, unmet(result.Targets))
}

// startChannel is the channel that is talked in.
const startChannel = "c0"

// fill imports the messages, in channels of the terminal's.
func (o starting) fill(ctx context.Context, s *screen, dir string, channels int) (err error) {
	store, err := memory.Open(ctx, memory.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	a := &actor{window: fullWindow, incurious: true, dice: rand.New(rand.NewPCG(1, 1))}
	door := newDoor()
	door.name = "terminal"
	hub := channel.New(channel.Options{
		Store: store, Log: silence, Doors: []channel.Door{door},
		Agent: func(string) channel.Agent {
			return channel.Agent{Model: a, MaxOutput: maxOutput, Policy: compactor.DefaultPolicy}
		},
	})
	defer func() { err = errors.Join(err, hub.Close()) }()
	words := rand.New(rand.NewPCG(1, 2))
	for n := range channels {
		each := o.messages / channels
		_, err := hub.Import(ctx, fmt.Sprintf("terminal:c%d", n), pastTalk(words, each), func(done int) {
			s.progress("%s of %s messages are written", thousands(n*each+done), thousands(o.messages))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pastTalk is what was said in a channel, a minute apart.
func pastTalk(words *rand.Rand, n int) iter.Seq2[channel.Inbound, error] {
	when := time.Now().Add(-time.Duration(n+60) * time.Minute)
	return func(yield func(channel.Inbound, error) bool) {
		for i := range n {
			author := []string{"Ada", "Ben", "Cleo"}[i%3]
			m := channel.Inbound{ID: fmt.Sprint("past", i), AuthorID: author, Author: author, Text: text(words, 4+words.IntN(36)), Time: when.Add(time.Duration(i) * time.Minute)}
			if !yield(m, nil) {
				return
			}
		}
	}
}

// begin starts cairn again and again. With killed each start follows a run that was
// killed when its message was accepted.
func begin(ctx context.Context, s *screen, binary, data string, killed bool) (on onset, err error) {
	var took, cpu []time.Duration
	for n := range starts {
		s.progress("start %d of %d", n+1, starts)
		if killed {
			if _, _, err := oneStart(ctx, binary, data, fmt.Sprint("killed", n), true); err != nil {
				return on, err
			}
		}
		d, c, err := oneStart(ctx, binary, data, fmt.Sprint(killed, n), false)
		if err != nil {
			return on, err
		}
		took, cpu = append(took, d), append(cpu, c)
	}
	return onset{Median: quantile(took, 0.5), Most: quantile(took, 1), CPU: quantile(cpu, 0.5)}, nil
}

// oneStart starts cairn and says one thing; it returns when that was accepted and what
// the run cost.
func oneStart(ctx context.Context, binary, data, id string, kill bool) (took, cpu time.Duration, err error) {
	cmd := exec.CommandContext(ctx, binary, "chat", "--json", "--data", data, "--channel", startChannel, "--config", filepath.Join(filepath.Dir(binary), "config.toml"))
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=", "OPENAI_BASE_URL=", "OPENAI_MODEL=", "ANTHROPIC_API_KEY=", "ANTHROPIC_BASE_URL=") // the offline model answers
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	_, err = fmt.Fprintf(in, `{"text":"hello","id":%q}`+"\n", id)
	lines := bufio.NewScanner(out)
	for err == nil && took == 0 && lines.Scan() {
		var line struct {
			Type, ID string
			Seq      int64
		}
		if err = json.Unmarshal(lines.Bytes(), &line); line.Type == "accepted" && line.ID == id && line.Seq > 0 {
			took = time.Since(begun)
		}
	}
	if kill {
		err = errors.Join(err, cmd.Process.Kill())
	}
	err = errors.Join(err, in.Close())
	for lines.Scan() {
	}
	end := cmd.Wait()
	if kill {
		end = nil
	}
	if err = errors.Join(err, end, lines.Err()); err == nil && took == 0 {
		err = errors.New("cairn ended before it accepted the message")
	}
	return took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// table is the result as people read it.
func (r started) table(s *screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s messages\n\n", s.paint(bold, "from the start of cairn to the first message accepted"), thousands(r.Messages))
	b.WriteString(s.paint(dim, left("", 32)+right("median", 10)+right("most", 10)+right("processor", 12)) + "\n")
	for _, o := range r.Shapes {
		fmt.Fprintf(&b, "%s%s%s%s\n", left(o.Shape, 32), s.paint(bold, right(fmt.Sprintf("%.0f ms", o.Median), 10)),
			right(fmt.Sprintf("%.0f ms", o.Most), 10), right(fmt.Sprintf("%.0f ms", o.CPU), 12))
	}
	b.WriteByte('\n')
	for _, g := range r.Targets {
		b.WriteString(verdict(s, g) + "\n")
	}
	return b.String()
}
