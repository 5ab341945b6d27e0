// The steps of a trial, each with the functions by which a running bot does it.

package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/channel"
)

// open returns the writer of a reply that no process has started.
func (r *trialRun) open(to ...string) channel.Writer {
	w := r.Connector.Reply(r.Conversation, to)
	if adopter, ok := w.(channel.Adopter); ok {
		adopter.Fresh()
	}
	return w
}

func (r *trialRun) piece(name, text string, to ...string) channel.Piece {
	return channel.Piece{Reply: fmt.Sprintf("trial-%d-%s", r.turn, name), Parts: 1, To: to, Text: r.begins + text}
}

// send sends a piece, which is then in a conversation.
func (r *trialRun) send(ctx context.Context, w channel.Writer, conversation string, p channel.Piece) (id string, err error) {
	id, err = w.Send(ctx, p)
	if err == nil {
		r.ids[id] = conversation
	}
	return id, err
}

// show shows a text that grows, and waits each time until the platform has answered. Nothing more is shown once it refuses.
func (r *trialRun) show(ctx context.Context, w channel.Writer, texts ...string) error {
	ctx, cancel := context.WithTimeout(ctx, showTime)
	defer cancel()
	for _, text := range texts {
		before := r.Calls.Count()
		w.Show(r.begins + text)
		call, err := r.Calls.Await(ctx, before, func(Call) bool { return true })
		if err != nil {
			return errors.New("nothing was shown in time")
		}
		if call.Refused {
			return nil
		}
	}
	return nil
}

// stored compares a message with what the history has of it.
func (r *trialRun) stored(ctx context.Context, conversation, id, text string) (m Posted, err error) {
	all, err := r.Own(ctx, conversation)
	i := slices.IndexFunc(all, func(m Posted) bool { return m.ID == id })
	if err != nil {
		return m, err
	}
	if i < 0 {
		return m, errors.New("differs: the history does not have the message")
	}
	m = all[i]
	switch {
	case !sameWords(m.Text, r.begins+text):
		return m, errors.New("differs: the history has its text in another form")
	case !m.Marked:
		return m, errors.New("differs: the history does not have its mark")
	}
	return m, nil
}

// sameWords reports whether two texts differ in white space at most, which Markdown may change.
func sameWords(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

const firstText = "Cairn tries out what it can do here. This message goes away in a moment."

func (r *trialRun) post(ctx context.Context) (seen string, err error) {
	r.first, err = r.send(ctx, r.open(), r.Conversation, r.piece("post", firstText))
	return "", err
}

func (r *trialRun) find(ctx context.Context) (seen string, err error) {
	m, err := r.stored(ctx, r.Conversation, r.first, firstText)
	return m.Note, err
}

// again sends the first piece as a process does that does not know whether the one before has sent it.
func (r *trialRun) again(ctx context.Context) (seen string, err error) {
	p := r.piece("post", firstText)
	p.Sending = true
	return r.same(ctx, p)
}

// repeat sends the first piece as if its response were lost.
func (r *trialRun) repeat(ctx context.Context) (seen string, err error) {
	return r.same(ctx, r.piece("post", firstText))
}

func (r *trialRun) same(ctx context.Context, p channel.Piece) (seen string, err error) {
	id, err := r.send(ctx, r.open(), r.Conversation, p)
	if err == nil && id != r.first {
		err = errors.New("differs: it was posted a second time")
	}
	return "", err
}

// working shows for a moment that the bot works on an answer to the first message.
func (r *trialRun) working(ctx context.Context) (seen string, err error) {
	ctx, cancel := context.WithTimeout(ctx, showTime)
	defer cancel()
	w := r.open(r.first)
	before := r.Calls.Count()
	if indicator, ok := w.(channel.Indicator); ok {
		indicator.Working()
	}
	_, err = r.Calls.Await(ctx, before, func(Call) bool { return true })
	w.Cancel()
	if err != nil {
		err = errors.New("nothing was shown in time")
	}
	return "", err
}

const (
	growing = "an answer that grows,\n"
	grown   = growing + "by a second line,\n"
	whole   = grown + "up to its end."
)

// edit shows an answer that grows, in the conversation itself.
func (r *trialRun) edit(ctx context.Context) (seen string, err error) {
	w := r.open()
	err = r.show(ctx, w, growing, grown)
	id, sendErr := r.send(ctx, w, r.Conversation, r.piece("edit", whole))
	err = cmp.Or(err, sendErr)
	if err != nil {
		return "", err
	}
	m, err := r.stored(ctx, r.Conversation, id, whole)
	switch {
	case err == nil && !m.Edited:
		err = errors.New("differs: the history does not say that it was edited")
	case err == nil && m.Buttons:
		err = errors.New("differs: the button of the unfinished answer is still there")
	}
	return "", err
}

// answer shows an answer to the first message that grows: a stream, where the platform has streams.
func (r *trialRun) answer(ctx context.Context) (seen string, err error) {
	below, err := r.Below(ctx, r.first)
	if err != nil {
		return "", err
	}
	r.below = below
	w := r.open(r.first)
	err = r.show(ctx, w, growing, grown)
	id, sendErr := r.send(ctx, w, r.below, r.piece("answer", whole, r.first))
	err = cmp.Or(err, sendErr)
	if err == nil {
		_, err = r.stored(ctx, r.below, id, whole)
	}
	return "", err
}

// stop takes an unfinished answer away.
func (r *trialRun) stop(ctx context.Context) (seen string, err error) {
	where := r.Conversation
	var to []string
	if r.below != "" {
		where = r.below
		to = []string{r.first}
	}
	const text = "an answer that is taken back\n"
	w := r.open(to...)
	err = r.show(ctx, w, text)
	w.Cancel()
	if err != nil {
		return "", err
	}
	all, err := r.Own(ctx, where)
	if slices.ContainsFunc(all, func(m Posted) bool { return sameWords(m.Text, r.begins+text) }) {
		err = errors.New("differs: it is still there")
	}
	return "", err
}

// button posts a message with a button, and waits for somebody to press it.
func (r *trialRun) button(ctx context.Context) (seen string, err error) {
	p := r.piece("press", "please press the button below, within a minute.")
	if r.press != "" {
		p = r.piece("press", "a message with a button.")
	}
	p.Reply = channel.WithSources(p.Reply, r.turn, "")
	post := func() error {
		_, err := r.send(ctx, r.open(), r.Conversation, p)
		return err
	}
	if r.press != "" {
		return "posted with a button; nobody was asked to press it: " + string(r.press), post()
	}
	before := r.Calls.Count()
	limited, cancel := context.WithTimeout(ctx, pressTime)
	defer cancel()
	err = r.Pressed(limited, fmt.Sprint(r.turn), post)
	if limited.Err() != nil {
		return "", Skip("nobody pressed the button in time")
	}
	if err != nil {
		return "", err
	}
	arrived := time.Now()
	_, err = r.Calls.Await(ctx, before, func(c Call) bool { return c.Name == r.Answer })
	if err != nil {
		return "", errors.New("differs: the press arrived, and its answer was not sent in time")
	}
	return fmt.Sprintf("the press arrived, and was answered within %d ms", time.Since(arrived).Milliseconds()), nil
}
