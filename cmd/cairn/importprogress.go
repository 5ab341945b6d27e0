// The progress of cairn import.

package main

import (
	"fmt"

	"cairn/channel"
)

// importProgress shows how far an import is.
type importProgress struct {
	progress
	state channel.ImportProgress

	goesOn bool // a running bot imports, and summarizes what is stored after this command
	toDo   int  // messages to summarize, once all are stored
}

// show notes how far the import is, and writes it if it is time.
func (p *importProgress) show(state channel.ImportProgress) {
	p.state = state
	switch {
	case state.Unread > p.toDo:
		p.toDo = state.Unread
		p.begin("summarized", 0)
	case p.step == "":
		p.begin("stored", state.Stored)
	}
	if p.toDo > 0 {
		p.write(p.toDo-state.Unread, p.toDo, "message", "messages")
		return
	}
	p.write(state.Stored, state.Total, "message", "messages")
}

// stopped says what an import that was stopped has done, and what does the rest.
func (p *importProgress) stopped(channel string) string {
	switch s := p.state; {
	case s.Stored < s.Total:
		return fmt.Sprintf("stopped: %d of %s are stored in %s and can be searched; run the same command again to continue",
			s.Stored, counted(s.Total, "message", "messages"), channel)
	case p.goesOn:
		return fmt.Sprintf("stopped: all messages are stored in %s and can be searched; the bot goes on summarizing them", channel)
	case s.Unread > 0:
		return fmt.Sprintf("stopped: all messages are stored in %s and can be searched; %d are not summarized yet: run the same command again, or start the bot",
			channel, s.Unread)
	}
	return "stopped: all messages are stored in " + channel + " and summarized"
}
