// A trial of a connector in a real conversation: what a running bot does there, by the same functions, step by step, and what the
// platform answers beside what its documentation says. Everything that it posts is deleted at the end.

package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"cairn/channel"
)

// Trial is what a connector brings along. Run runs it, once.
type Trial struct {
	Connector    channel.Connector
	Conversation string // its complete name
	Calls        *Calls // of the connector's client
	Work         *Group // of the connector; it is open, and receives nothing

	// Expected is what the platform should do in each step, by its documentation, which its double in testkit follows. Run skips other
	// steps.
	Expected map[string]string

	// Own returns what the bot has written in a conversation since the trial began, oldest first, replies apart.
	Own func(ctx context.Context, conversation string) ([]Posted, error)
	// Remove deletes a message, also one that is still being written.
	Remove func(ctx context.Context, conversation, id string) error
	// Below prepares an answer to a message of the bot, and returns the conversation in which the answer will be.
	Below func(ctx context.Context, id string) (conversation string, err error)
	// Pressed listens, calls post once it does, and waits until somebody presses the button of the turn, which it answers.
	Pressed func(ctx context.Context, turn string, post func() error) error
	Answer  string // name of the call that answers a press
}

// Posted is a message of the bot, as a history has it.
type Posted struct {
	ID, Text string
	Marked   bool // the bot would find it again
	Edited   bool
	Buttons  bool
	Note     string // what else is of interest
}

// Step is one thing that was tried. Nothing in it is private.
type Step struct {
	Name     string
	Expected string // see Trial
	Seen     string // what happened
	OK       bool
	Skipped  bool // it was not tried; Seen says why
}

// Skip is why a step was not tried.
type Skip string

func (s Skip) Error() string { return string(s) }

const (
	stepTime  = 45 * time.Second // of one step
	showTime  = 20 * time.Second // until a text is shown
	pressTime = 60 * time.Second // in which somebody may press
	cleanTime = 45 * time.Second // of the end
	lateTime  = 2 * time.Second  // in which a request without an answer may still take effect
)

// trialRun is a running trial.
type trialRun struct {
	*Trial
	ctx    context.Context
	turn   int64  // a number of no turn, by which the trial knows its messages and its button
	begins string // with this its messages begin
	press  Skip   // why nobody is asked to press; "": somebody is
	report func(Step)

	first string            // id of the first message
	below string            // where the answer to it is; "": nowhere
	ids   map[string]string // of messages that were sent: their conversations
}

// Run tries the steps and reports each. After an error of the first the others are left out, and so they are once ctx ends; what was
// posted is deleted in any case. noPress is why nobody is asked to press a button; "": somebody is.
func (t *Trial) Run(ctx context.Context, noPress string, report func(Step)) {
	turn := 100_000 + rand.Int64N(900_000)
	r := &trialRun{Trial: t, ctx: ctx, turn: turn, begins: fmt.Sprintf("Trial %d: ", turn), press: Skip(noPress), report: report, ids: map[string]string{}}
	defer r.cleanUp()
	if !r.step("post", r.post) {
		return
	}
	r.step("find", r.find)
	r.step("again", r.again)
	r.step("repeat", r.repeat)
	r.step("working", r.working)
	r.step("edit", r.edit)
	r.step("answer", r.answer)
	r.step("stop", r.stop)
	r.step("press", r.button)
	r.step("upload", func(context.Context) (string, error) { return "", Skip("Cairn uploads no files") })
}

// step tries one thing and reports it, unless ctx has ended before that: then it proves nothing.
func (r *trialRun) step(name string, try func(ctx context.Context) (seen string, err error)) bool {
	_, known := r.Expected[name]
	if !known || r.ctx.Err() != nil {
		return false
	}
	limit := stepTime
	if name == "press" {
		limit += pressTime
	}
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	before := r.Calls.Count()
	seen, err := try(ctx)
	if r.ctx.Err() != nil {
		return false
	}
	s := r.result(name, before, seen, err)
	r.report(s)
	return s.OK
}

// result describes a step by its calls.
func (r *trialRun) result(name string, before int, seen string, err error) Step {
	s := Step{Name: name, Expected: r.Expected[name], OK: err == nil}
	var parts []string
	for _, call := range r.Calls.Since(before) {
		parts = append(parts, call.String())
		s.OK = s.OK && !call.Refused
	}
	if seen != "" {
		parts = append(parts, seen)
	}
	if err != nil {
		s.Skipped = errors.As(err, new(Skip))
		parts = append(parts, withoutIDs(err))
	}
	s.Seen = strings.Join(parts, "; ")
	return s
}

// cleanUp deletes everything that begins as the trial's messages do, newest first, and looks whether all of it has gone.
func (r *trialRun) cleanUp() {
	r.Work.Close() // nothing more is written
	defer r.Calls.client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), cleanTime)
	defer cancel()
	if slices.ContainsFunc(r.Calls.Since(0), func(c Call) bool { return c.Result == noAnswer }) {
		_ = Sleep(ctx, lateTime) // if ctx ends, the rest fails, too
	}
	before := r.Calls.Count()
	removed := 0
	left := 0
	var errs []error
	for _, where := range slices.Compact([]string{r.below, r.Conversation}) { // what is below a message is no longer found without it
		n, err := r.removeFrom(ctx, where)
		rest, lookErr := r.ours(ctx, where)
		removed += n
		left += len(rest)
		errs = append(errs, err, lookErr)
	}
	err := errors.Join(errs...)
	seen := fmt.Sprintf("messages deleted: %d; left: %d", removed, left)
	if err != nil || left > 0 {
		err = cmp.Or(err, errors.New("not all could be deleted"))
		seen += fmt.Sprintf("; delete by hand those that begin with %q", strings.TrimSpace(r.begins))
	}
	r.report(r.result("clean up", before, seen, err))
}

// removeFrom deletes the trial's messages in a conversation: those that its history has, and those that were sent.
func (r *trialRun) removeFrom(ctx context.Context, conversation string) (removed int, err error) {
	all, err := r.ours(ctx, conversation)
	var ids []string
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	if err != nil { // the history cannot be read
		for id, where := range r.ids {
			if where == conversation {
				ids = append(ids, id)
			}
		}
	}
	for _, id := range slices.Backward(ids) {
		failed := r.Remove(ctx, conversation, id)
		if failed == nil {
			removed++
		}
		err = errors.Join(err, failed)
	}
	return removed, err
}

// ours returns the trial's messages in a conversation; none of "".
func (r *trialRun) ours(ctx context.Context, conversation string) ([]Posted, error) {
	if conversation == "" {
		return nil, nil
	}
	all, err := r.Own(ctx, conversation)
	return slices.DeleteFunc(all, func(m Posted) bool { return !strings.HasPrefix(m.Text, strings.TrimSpace(r.begins)) }), err
}
