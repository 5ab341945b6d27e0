// How commands that take long show how far they are: one line at a terminal, a line now and then elsewhere.

package main

import (
	"fmt"
	"io"
	"time"

	"cairn/chat"
)

const (
	redrawEvery = 200 * time.Millisecond // at a terminal
	reportEvery = 10 * time.Second       // elsewhere
)

// progress shows how far a command is.
type progress struct {
	out      io.Writer
	terminal bool // one line is drawn again and again
	now      func() time.Time

	step    string // what is being done
	started time.Time
	from    int // done when the step started
	next    time.Time
}

func newProgress(out io.Writer) progress {
	return progress{out: out, terminal: isTerminal(out), now: time.Now}
}

// begin starts a step of which some is done.
func (p *progress) begin(step string, done int) {
	p.step = step
	p.started = p.now()
	p.from = done
	p.next = p.started
	if !p.terminal {
		p.next = p.started.Add(reportEvery)
	}
}

// write writes how much of the step is done, how much per second, and how long the rest takes, if it is time.
func (p *progress) write(done, all int, one, many string) {
	now := p.now()
	if now.Before(p.next) {
		return
	}
	text := fmt.Sprintf("%d of %s %s", done, counted(all, one, many), p.step)
	if took := now.Sub(p.started); took >= redrawEvery && done > p.from {
		rate := float64(done-p.from) / took.Seconds()
		left := time.Duration(float64(all-done) / rate * float64(time.Second))
		text += fmt.Sprintf(", %.0f per second, %s left", rate, chat.Lasting(left))
	}
	if p.terminal {
		p.next = now.Add(redrawEvery)
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
		return
	}
	p.next = now.Add(reportEvery)
	fmt.Fprintln(p.out, text)
}

// done removes the line from a terminal.
func (p *progress) done() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
