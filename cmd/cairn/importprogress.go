// The progress of cairn import: one line at a terminal, a line now and then elsewhere.

package main

import (
	"fmt"
	"io"
	"time"

	"cairn/channel"
	"cairn/chat"
)

const (
	redrawEvery = 200 * time.Millisecond // at a terminal
	reportEvery = 10 * time.Second       // elsewhere
)

// importProgress shows how far an import is.
type importProgress struct {
	out      io.Writer
	terminal bool // one line is drawn again and again
	now      func() time.Time

	state   channel.ImportProgress
	toDo    int // messages to summarize, once all are stored
	started time.Time
	from    int // done when started
	next    time.Time
}

func newImportProgress(out io.Writer) *importProgress {
	return &importProgress{out: out, terminal: isTerminal(out), now: time.Now}
}

// show notes how far the import is, and writes it if it is time.
func (p *importProgress) show(state channel.ImportProgress) {
	now := p.now()
	summarizes := state.Unread > p.toDo
	if p.started.IsZero() || summarizes {
		p.toDo = max(p.toDo, state.Unread)
		p.started = now
		p.from = 0
		if !summarizes {
			p.from = state.Stored
		}
		p.next = now
		if !p.terminal {
			p.next = now.Add(reportEvery)
		}
	}
	p.state = state
	if now.Before(p.next) {
		return
	}
	if p.terminal {
		p.next = now.Add(redrawEvery)
		fmt.Fprintf(p.out, "\r\x1b[K%s", p.line(now))
		return
	}
	p.next = now.Add(reportEvery)
	fmt.Fprintln(p.out, p.line(now))
}

// line says how many messages are done, how many per second, and how long the rest takes.
func (p *importProgress) line(now time.Time) string {
	done := p.state.Stored
	all := p.state.Total
	what := "stored"
	if p.toDo > 0 {
		done = p.toDo - p.state.Unread
		all = p.toDo
		what = "summarized"
	}
	text := fmt.Sprintf("%d of %s %s", done, counted(all, "message", "messages"), what)
	if took := now.Sub(p.started); took >= redrawEvery && done > p.from {
		rate := float64(done-p.from) / took.Seconds()
		left := time.Duration(float64(all-done) / rate * float64(time.Second))
		text += fmt.Sprintf(", %.0f per second, %s left", rate, chat.Lasting(left))
	}
	return text
}

// done removes the line from a terminal.
func (p *importProgress) done() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// stopped says what an import that was stopped has done, and what does the rest.
func (p *importProgress) stopped(channel string) string {
	switch s := p.state; {
	case s.Stored < s.Total:
		return fmt.Sprintf("stopped: %d of %s are stored in %s and can be searched; run the same command again to continue",
			s.Stored, counted(s.Total, "message", "messages"), channel)
	case s.Unread > 0:
		return fmt.Sprintf("stopped: all messages are stored in %s and can be searched; %d are not summarized yet: run the same command again, or start the bot",
			channel, s.Unread)
	}
	return "stopped: all messages are stored in " + channel + " and summarized"
}
