// Checks that tests use again and again.

package channel_test

import (
	"strings"
	"testing"

	"cairn/channel"
)

// must returns the result of a call, and ends the test if the call failed: must(f())(t).
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		noError(t, err)
		return value
	}
}

// noError ends the test if a call failed.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// expect compares what a test got with what it wants.
func expect[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// contains checks that a text contains part.
func contains(t testing.TB, what, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s: %q, want %q in it", what, text, part)
	}
}

// as runs a command for a person.
func (r *rig) as(who channel.Person, where, line string) channel.Answer {
	r.t.Helper()
	answer, handled, err := r.hub.Run(r.t.Context(), where, who, line)
	if err != nil || !handled {
		r.t.Fatalf("%s: handled %v, %v", line, handled, err)
	}
	return answer
}

// press runs a command for Ada, who manages the place.
func (r *rig) press(line string) channel.Answer {
	r.t.Helper()
	return r.as(channel.Person{ID: "u1", Name: "Ada", Manager: true}, place, line)
}

func (r *rig) run(line string) string {
	r.t.Helper()
	return r.press(line).String()
}

// finished waits until what a command started has ended, and returns its last words.
func (r *rig) finished(answer channel.Answer) string {
	r.t.Helper()
	if answer.Then != nil {
		return answer.Then(r.t.Context())
	}
	return answer.String()
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (r *rig) ask(text string) string {
	r.t.Helper()
	r.say(text, true)
	r.idle()
	for _, sent := range r.connector.texts() {
		if !strings.HasPrefix(sent, "(") { // a notice
			text = sent
		}
	}
	return text
}
