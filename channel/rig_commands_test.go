// Checks that tests use again and again.

package channel_test

import (
	"strings"

	"cairn/channel"
)

// runAs runs a command for a person.
func (r *rig) runAs(who channel.Person, where, line string) channel.Answer {
	r.t.Helper()
	answer, handled, err := r.hub.Run(r.t.Context(), where, who, line)
	if err != nil || !handled {
		r.t.Fatalf("%s: handled %v, %v", line, handled, err)
	}
	return answer
}

// runAsManager runs a command for Ada, who manages the place.
func (r *rig) runAsManager(line string) channel.Answer {
	r.t.Helper()
	return r.runAs(channel.Person{ID: "u1", Name: "Ada", Manager: true}, place, line)
}

func (r *rig) run(line string) string {
	r.t.Helper()
	return r.runAsManager(line).String()
}

// finished waits until the work that a command started has ended, and returns its last answer.
func (r *rig) finished(answer channel.Answer) string {
	r.t.Helper()
	if answer.Then != nil {
		return answer.Then(r.t.Context())
	}
	return answer.String()
}

func (r *rig) ask(text string) string {
	r.t.Helper()
	r.say(text, true)
	r.waitForReplies()
	for _, sent := range r.connector.texts() {
		if !strings.HasPrefix(sent, "(") { // a notice
			text = sent
		}
	}
	return text
}
