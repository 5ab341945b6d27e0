// API routes: actions on a conversation.

package web

import (
	"maps"
	"net/http"
	"unicode/utf8"

	"cairn/channel"
	"cairn/channel/report"
	"cairn/compactor"
	"cairn/config"
)

type doneAnswer struct {
	Done   bool   `json:"done" jsonschema:"something was changed, or will be"`
	Reason string `json:"reason,omitempty" jsonschema:"why not, or why later"`
}

type compactBody struct {
	Focus string         `json:"focus,omitempty" jsonschema:"what to keep in detail; at most 1000 characters"`
	Keep  *int           `json:"keep_last_n,omitempty" jsonschema:"how many of the newest messages stay, 0 to 500; absent: as the policy says"`
	With  map[string]any `json:"compaction,omitempty" jsonschema:"other settings for this compaction alone: {\"target_percentage\": 10}"`
}

const maxFocus = 1000

// jobAnswer is a step of a compaction, as in the events about it.
type jobAnswer struct {
	channel.Event
	Reason string `json:"reason,omitempty" jsonschema:"why there was nothing to do"`
}

func jobOf(e channel.Event) jobAnswer { return jobAnswer{e, e.Error} }

// actions change what a conversation's prompt has, and whether it is answered.
type actions struct{ operator channel.Operator }

func (t *actions) routes() []route {
	const one = conversationPath
	const ok, accepted, conflict, unfit = http.StatusOK, http.StatusAccepted, http.StatusConflict, http.StatusUnprocessableEntity
	return []route{
		send("POST "+one+"/summaries/{summary}/lines/{line}", "Rewrite a line of a summary in the prompt, which gets a new number; "+
			"a text of \"\" removes it. Undo reverts this", t.rewriteLine, ok, unfit),
		send("POST "+one+"/compact", "Summarize older messages: 202 with the job, 200 with what was applied immediately "+
			"or why there is nothing to do, 409 if one runs", t.compact, ok, accepted, conflict),
		act("POST "+one+"/undo", "Undo the latest compaction, or cancel it while it runs; memories stay", t.undo, ok, conflict),
		act("POST "+one+"/new", "Start a new session; the old one is summarized: "+
			"202 if it starts once the earlier messages are answered", t.newSession, ok, accepted),
		act("POST "+one+"/pause", "Call no model until it is resumed; messages are still saved", t.pause, ok),
		act("POST "+one+"/resume", "Answer again", t.resume, ok),
		send("POST "+one+"/model", "Choose which model answers from the next turn on, among `models`", t.chooseModel, ok, unfit),
		send("POST "+one+"/approvals/{code}", "Allow or deny a tool call that waits for approval; 404 if it no longer waits", t.approve, ok),
	}
}

type modelBody struct {
	Name string `json:"name" jsonschema:"one of models; default is the agent's own"`
}

func (t *actions) chooseModel(r *request, b modelBody) (doneAnswer, error) {
	return doneAnswer{Done: true}, channel.ChooseModel(r.Context(), t.operator, r.conversation.Name(), b.Name, owner)
}

func (t *actions) compact(r *request, b compactBody) (job jobAnswer, err error) {
	name := r.conversation.Name()
	switch now, _ := t.operator.Activity(name); {
	case utf8.RuneCountInString(b.Focus) > maxFocus:
		return job, invalid("focus: must be at most %d characters.", maxFocus)
	case now.Summarizing:
		return job, problem(http.StatusConflict, "A compaction is already running. Wait until it ends.")
	}
	settings := map[string]any{}
	maps.Copy(settings, b.With)
	if b.Keep != nil {
		settings["keep_last_n"] = float64(*b.Keep)
	}
	with, err := report.PatchOf(settings)
	if err != nil {
		return job, invalid("%s", err)
	}
	started, err := t.operator.Compact(r.Context(), name, b.Focus, with)
	if started.State == compactor.EventStarted || started.State == compactor.EventScheduled {
		r.status = http.StatusAccepted
	}
	return jobOf(started), err
}

type approveBody struct {
	Allow *bool `json:"allow"`
}

func (t *actions) approve(r *request, b approveBody) (done doneAnswer, err error) {
	if b.Allow == nil {
		return done, invalid("allow: must be true or false.")
	}
	words, ok := t.operator.Approve(r.conversation.Name(), r.PathValue("code"), config.WebOwner, *b.Allow)
	if !ok {
		return done, problem(http.StatusNotFound, "This call is not waiting for approval.")
	}
	return doneAnswer{Done: true, Reason: words}, nil
}

func (t *actions) undo(r *request) (jobAnswer, error) {
	undone, err := t.operator.Undo(r.Context(), r.conversation.Name())
	return jobOf(undone), err
}

type lineBody struct {
	Text *string `json:"text" jsonschema:"one line, at most 500 characters; empty: the line is removed"`
}

func (t *actions) rewriteLine(r *request, b lineBody) (jobAnswer, error) {
	if b.Text == nil {
		return jobAnswer{}, invalid("text: is missing. An empty one removes the line.")
	}
	number := int(min(r.id("line"), maxNumber))
	rewritten, err := channel.RewriteLine(r.Context(), t.operator, r.conversation.Name(), r.id("summary"), number, *b.Text, owner)
	a := jobOf(rewritten)
	if rewritten.State == compactor.EventNoop {
		a.Reason = "The line already says that."
	}
	return a, err
}

func (t *actions) newSession(r *request) (doneAnswer, error) {
	wanted, later, err := t.operator.StartSession(r.Context(), r.conversation.Name())
	a := doneAnswer{Done: wanted}
	switch {
	case !wanted:
		a.Reason = "This session is already new: it has no messages yet."
	case later:
		r.status = http.StatusAccepted
		a.Reason = "The new session starts once the earlier messages are answered."
	}
	return a, err
}

func (t *actions) pause(r *request) (doneAnswer, error) {
	return doneAnswer{Done: true}, t.operator.Pause(r.Context(), r.conversation.Name(), owner)
}

func (t *actions) resume(r *request) (doneAnswer, error) {
	a := doneAnswer{Done: true}
	if err := t.operator.Resume(r.Context(), r.conversation.Name()); err != nil {
		return a, err
	}
	_, all, err := t.operator.Paused(r.Context(), r.conversation.Name())
	if all {
		a.Reason = "The whole bot is still paused; /resume everywhere ends the pause."
	}
	return a, err
}
