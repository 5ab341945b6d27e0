package channel

import (
	"errors"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/llm/clean"
)

// attempt is what one attempt at a turn has written so far.
type attempt struct {
	requests
	first    int64 // seq of the first row that the bot and its tools add
	sender   *sender
	writer   Writer          // nil: nothing is shown
	messages []chat.Message  // messages of the bot and its tools, in order
	texts    []string        // the texts people see, one per model call
	textAt   int             // index in messages of the row with the newest of texts
	current  strings.Builder // the text of the running call
	shown    int             // bytes of the text when it was last shown
	stored   bool            // its outcome is on disk
	failed   error           // how the model failed; nil: it did not
	resumed  bool            // it is not the first of its turn
}

// newAttempt returns an attempt whose text people will see.
func (t *turn) newAttempt() *attempt {
	build := requests{site: t.site, loop: t.loop, answerer: t.answerer, question: t.Seq, task: t.task, spend: t.spend}
	return &attempt{requests: build, first: t.nextSeq(), sender: t.sender, writer: t.newWriter(), resumed: t.Starts > 1}
}

// newWriter returns a writer of the turn's reply.
func (t *turn) newWriter() Writer {
	w := t.connector.Reply(t.name, t.To)
	if adopter, ok := w.(Adopter); ok && t.Starts == 1 {
		adopter.Fresh()
	}
	return w
}

// text returns everything that people see of the attempt so far.
func (a *attempt) text() string {
	texts := append(slices.Clip(a.texts), strings.TrimSpace(a.current.String()))
	return strings.TrimSpace(strings.Join(texts, "\n\n"))
}

// stream displays the next piece of the answer.
func (a *attempt) stream(delta string) {
	a.current.WriteString(delta)
	a.show()
}

// show displays the answer so far, in larger steps the longer it is: each costs time in proportion.
func (a *attempt) show() {
	n := a.current.Len()
	if n > a.shown && n-a.shown < n/256 {
		return
	}
	a.shown = n
	if text := clean.WithoutNoReply(a.text(), true); text != "" {
		a.sender.show(a.writer, text)
	}
}

// withdraw removes what was shown.
func (a *attempt) withdraw() {
	if a.writer != nil {
		a.sender.unhold()
		a.writer.Cancel()
	}
}

// isEmpty reports whether people who wait would get nothing. optional: nobody requested an answer, so silence is one.
func (a *attempt) isEmpty(resp llm.Response, optional bool) bool {
	silent := optional && strings.TrimSpace(resp.Message.Text) != ""
	return len(a.texts) == 0 && !silent && clean.WithoutNoReply(resp.Message.Text, false) == ""
}

// add adds the text of a call's message, if it has one: the row of that message is the next of messages.
func (a *attempt) add(text string) {
	a.current.Reset()
	if text != "" {
		a.texts = append(a.texts, text)
		a.textAt = len(a.messages)
	}
}

// end ends the attempt with its last message, whose seq is next. It returns the id of the reply, which the row of the last text has;
// "": nobody gets one, because it has nothing to add and nobody requested it, or because it was stopped immediately.
func (a *attempt) end(last llm.Message, next, turn int64, language string) (reply string) {
	id := replyID{kind: replyAnswer, of: number(next)}
	if a.hasSources() {
		id.sources = number(turn)
		id.language = language
	}
	last.Text = clean.WithoutNoReply(last.Text, false)
	a.add(last.Text)
	if last.Text != "" {
		a.messages = append(a.messages, rowOf(last, next, turn))
	}
	if len(a.texts) == 0 {
		return ""
	}
	a.messages[a.textAt].ID = id.String()
	return id.String()
}

func (a *attempt) hasSources() bool {
	return slices.ContainsFunc(a.messages, func(m chat.Message) bool {
		return m.Role == llm.RoleTool && m.Tool != "memory_save" && len(m.Quotes.Messages)+len(m.Quotes.Memories) > 0
	})
}

// half returns what people saw of an answer that broke off; "": nothing, or nothing to keep.
func (a *attempt) half() string {
	if provider, ok := errors.AsType[*llm.Error](a.failed); !ok || !provider.Temporary() {
		return ""
	}
	return clean.WithoutNoReply(a.current.String(), true)
}

func rowOf(m llm.Message, seq, turn int64, pictures ...chat.Attachment) chat.Message {
	row := chat.Message{
		Seq: seq, Turn: turn, Role: m.Role, Text: m.Text, Calls: m.Calls, Attachments: pictures,
		CallID: m.CallID, Tool: m.Tool, Quotes: m.Quotes, Native: m.Native, Time: time.Now(),
	}
	row.Tokens = chat.TokensOf(row)
	return row
}
