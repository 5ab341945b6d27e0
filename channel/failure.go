package channel

import (
	"errors"
	"log/slog"
	"strings"

	"cairn/channel/access"
	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/llm"
)

// Why turns fail: what people read of it, and what the log gets.

var (
	errEmpty       = errors.New("the model gave an empty answer")
	errInterrupted = errors.New("the turn was interrupted repeatedly")
)

// failureOf returns the class of a failure, for metrics, and what people read: what happened and what to do.
func failureOf(err error) (class, sentence string) {
	var spent *access.SpentError
	switch {
	case errors.As(err, &spent):
		return spent.Class, spent.Sentence
	case errors.Is(err, compactor.ErrTooLarge):
		return "too_large", "I cannot fit this into the model's context window. Your message is saved; try /compact or /new, or ask the bot's operator for a larger context_window."
	case errors.Is(err, errInterrupted):
		return "interrupted", "I was interrupted repeatedly while answering this. Your message is saved; ask again if it still matters."
	case errors.Is(err, llm.ErrTooManyCalls), errors.Is(err, llm.ErrTooLong), errors.Is(err, errEmpty):
		return "no_answer", "The model gave no answer. Your message is saved; ask again, perhaps in other words."
	}
	class = "other"
	sentence = "Something went wrong while I was answering. Your message is saved; ask again."
	if kind := llm.KindOf(err); kind != "" {
		class = classOf(kind)
	}
	if remedy, ok := llm.RemedyOf(err); ok {
		sentence = remedy.Person
	}
	return class, sentence
}

// FailureClass sorts failed turns and requests into the classes of FailureClasses.
func FailureClass(err error) string {
	class, _ := failureOf(err)
	return class
}

func classOf(kind llm.Kind) string { return strings.ReplaceAll(string(kind), " ", "_") }

// FailureClasses returns every class that FailureClass may return.
func FailureClasses() []string {
	all := []string{"budget", "calls_per_hour", "too_large", "interrupted", "no_answer"}
	for _, kind := range llm.Kinds {
		all = append(all, classOf(kind))
	}
	return append(all, "other")
}

// failures tracks which failed turns were logged and reported to people.
type failures struct {
	here      observe.Incident // turns fail here, for reasons specific to this conversation
	covered   bool             // turns failed here while the model's server was down
	announced bool             // people were notified that the last turn failed

	turn     int64 // the turn that was last asked in this process
	attempts int   // at it, in this process: one that a kill ended is not among them
}

// begin counts an attempt at a turn.
func (f *failures) begin(turn int64) {
	f.attempts = f.of(turn) + 1
	f.turn = turn
}

// of returns how often this process has attempted a turn. While none runs, all of these have failed.
func (f *failures) of(turn int64) int {
	if f.turn != turn {
		return 0
	}
	return f.attempts
}

// level returns the log level for a failed turn: a warning once per incident. If the model's server fails for everyone, all
// conversations share one incident; a conversation that keeps failing once the server works for others is a separate incident.
func (f *failures) level(err error, server *llm.Learned) slog.Level {
	switch {
	case errors.Is(err, compactor.ErrSpent): // the budget has its own line
		return slog.LevelDebug
	case f.here.On() || !llm.OfServer(err) || f.covered && !server.Down.On():
		return f.here.Begin()
	}
	f.covered = true
	return server.Down.Begin()
}

// end records that a turn was answered, and reports whether that ends an incident.
func (f *failures) end(server *llm.Learned) bool {
	f.covered = false
	f.announced = false
	here := f.here.End()
	there := server.Down.End()
	return here || there
}

// An answer that breaks off, and is not asked for again, is kept as far as it came.

// brokeOff ends such an answer, for people and for models, which read it later.
const brokeOff = "(My answer broke off here: the model's server did not send the rest. Ask me to continue.)"

// brokenOff returns the last message of an answer that broke off; ok is false if nothing of it arrived.
func (t *turn) brokenOff() (m llm.Message, ok bool) {
	text := t.attempt.half()
	if text == "" && !ask(t.loop, func(*compactor.Compactor) bool { return t.changes.seen }) { // it may repeat what is deleted now
		text = t.half
	}
	return llm.Message{Role: llm.RoleAssistant, Text: withoutOpenFence(text) + "\n\n" + t.speaker().Translate(brokeOff)}, text != ""
}

// withoutOpenFence closes the block of code that a text leaves open.
func withoutOpenFence(text string) string {
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		marks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		if strings.HasPrefix(line, "~") {
			marks = line[:len(line)-len(strings.TrimLeft(line, "~"))]
		}
		switch {
		case fence == "" && len(marks) >= 3 && !strings.Contains(line[len(marks):], "`"):
			fence = marks
		case fence != "" && marks == line && strings.HasPrefix(marks, fence):
			fence = ""
		}
	}
	if fence == "" {
		return text
	}
	return text + "\n" + fence
}
