// What a terminal asks of a bot that another process runs: terminal.Bot over HTTP.

package web

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"cairn/channel"
	"cairn/channel/sentences"
	"cairn/connector/terminal"
)

var _ terminal.Bot = (*Attached)(nil)

// refusedPause is how long a request waits that a busy or stopping bot refused; refusedTries limits how often it is repeated.
const (
	refusedPause = 500 * time.Millisecond
	refusedTries = 20
)

// sent calls a function that makes a request, with a context that also ends when the connection is lost. It repeats a request that the
// bot refused for a moment: it is too busy, or stops. The error is ErrLost, the context's, or a sentence for people.
func (a *Attached) sent(ctx context.Context, request func(ctx context.Context) error) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)()
	for try := 1; ; try++ {
		err := request(within)
		p, refused := errors.AsType[*Problem](err)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !refused:
			return lostBy(err)
		case try == refusedTries || p.Status != http.StatusServiceUnavailable && p.Status != http.StatusTooManyRequests:
			return p
		}
		select {
		case <-time.After(refusedPause):
		case <-within.Done():
		}
	}
}

// askBot returns the answer to a request about a conversation.
func askBot[T any](ctx context.Context, a *Attached, method, conversation, what string, query url.Values, body any) (answer T, err error) {
	err = a.sent(ctx, func(ctx context.Context) error {
		text, err := a.client.call(ctx, method, apiOf(conversation)+"/"+what, query, body)
		if err == nil {
			err = json.Unmarshal(text, &answer)
		}
		return err
	})
	return answer, err
}

// now returns the state of a conversation. From the first call on, the terminal shows what is sent there.
func (a *Attached) now(ctx context.Context, conversation string) (terminalNow, error) {
	now, err := askBot[terminalNow](ctx, a, http.MethodGet, conversation, "terminal", nil, nil)
	if err != nil {
		return now, err
	}
	f := a.Attachment
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, talks := f.rows[conversation]; !talks {
		f.rows[conversation] = now.Row
	}
	f.spoken[conversation] = spoken{now.Language, now.Silent}
	return now, nil
}

// enter makes the terminal show what is sent in a conversation.
func (a *Attached) enter(ctx context.Context, conversation string) error {
	a.Attachment.mu.Lock()
	_, talks := a.rows[conversation]
	a.Attachment.mu.Unlock()
	if talks {
		return nil
	}
	_, err := a.now(ctx, conversation)
	return err
}

func (a *Attached) Model(ctx context.Context, conversation string) (name string, window int) {
	now, _ := a.now(ctx, conversation) // a headline without a model is still one
	return now.Model, now.Window
}

func (a *Attached) Language(conversation string) string {
	a.Attachment.mu.Lock()
	defer a.Attachment.mu.Unlock()
	if known := a.spoken[conversation].language; known != "" {
		return known
	}
	return channel.DefaultLanguage
}

// Recover does nothing: the bot has done that. The terminal shows what it says to messages that were left.
func (a *Attached) Recover(ctx context.Context, _ func(conversation string) bool, _ string) error {
	return ctx.Err()
}

func (a *Attached) Unanswered(ctx context.Context, conversation string) ([]string, error) {
	now, err := a.now(ctx, conversation)
	return now.Unanswered, err
}

// Deliver passes on a message. After ErrLost it may be called again: the bot knows the message by its id.
func (a *Attached) Deliver(ctx context.Context, conversation string, m channel.Inbound) error {
	if err := a.enter(ctx, conversation); err != nil {
		return err
	}
	key := messageKey(conversation, m.ID)
	f := a.Attachment
	f.mine.Set(key, "")
	f.mu.Lock()
	f.unaccepted[key] = postedMessage{conversation, m}
	f.mu.Unlock()
	taken, err := askBot[messageTaken](ctx, a, http.MethodPost, conversation, "messages", nil, bodyOf(m))
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && !errors.Is(err, ErrLost) {
		delete(f.unaccepted, key)
	}
	if err == nil {
		f.spoken[conversation] = spoken{f.spoken[conversation].language, taken.Silent}
	}
	if taken.Elsewhere { // the events here do not have the answer
		go func() { _ = a.Answered(a.ctx, conversation, m.ID) }()
	}
	return err
}

// bodyOf returns a message as it is posted.
func bodyOf(m channel.Inbound) messageNew {
	mention := m.Addressed
	body := messageNew{ID: m.ID, Text: terminal.Escaped(m.Text), terminalFields: terminalFields{
		Author: m.Author, Mention: &mention, Time: m.Time.UTC().Format(time.RFC3339Nano),
	}}
	if len(m.Compaction) > 0 {
		body.Compaction = make(map[string]any)
		for key, value := range m.Compaction {
			body.Compaction[key] = value
		}
	}
	return body
}

// wait waits until a conversation is idle, or as query says, and everything sent before was shown.
func (a *Attached) wait(ctx context.Context, conversation string, query url.Values) (waited, error) {
	if err := a.enter(ctx, conversation); err != nil {
		return waited{}, err
	}
	w, err := askBot[waited](ctx, a, http.MethodGet, conversation, "wait", query, nil)
	if err != nil {
		return w, err
	}
	a.Attachment.mu.Lock()
	a.spoken[conversation] = spoken{w.Language, w.Silent}
	a.Attachment.mu.Unlock()
	if w.Event == 0 { // another process of the bot has answered
		a.catchUp(conversation)
		if a.ctx.Err() != nil {
			return w, ErrLost
		}
	}
	return w, a.await(ctx, w.Event)
}

func (a *Attached) Answered(ctx context.Context, conversation, id string) error {
	_, err := a.wait(ctx, conversation, url.Values{"message": {id}})
	return err
}

func (a *Attached) Idle(ctx context.Context, conversation string) error {
	_, err := a.wait(ctx, conversation, nil)
	return err
}

func (a *Attached) WhySilent(_ context.Context, conversation string) string {
	a.Attachment.mu.Lock()
	defer a.Attachment.mu.Unlock()
	return a.spoken[conversation].silent
}

func (a *Attached) Approval(ctx context.Context, conversation string) string {
	now, _ := a.now(ctx, conversation) // without an answer what is typed is a message
	return now.Approval
}

func (a *Attached) Status(ctx context.Context, conversation string) (terminal.Status, error) {
	now, err := a.now(ctx, conversation)
	return terminal.Status{Doing: now.Doing, Model: now.Model, UsedPct: now.Used}, err
}

func (a *Attached) Drain(ctx context.Context, match func(conversation string) bool, waits func(open int)) error {
	a.leave()
	a.Attachment.mu.Lock()
	talks := slices.Sorted(maps.Keys(a.rows))
	a.Attachment.mu.Unlock()
	talks = slices.DeleteFunc(talks, func(name string) bool { return !match(name) })
	var busy []string
	open := 0
	for _, conversation := range talks {
		w, err := a.wait(ctx, conversation, nil)
		if err != nil {
			return err
		}
		if w.Tasks > 0 {
			busy = append(busy, conversation)
			open += w.Tasks
		}
	}
	if open > 0 {
		waits(open)
	}
	for _, conversation := range busy {
		if _, err := a.wait(ctx, conversation, url.Values{"tasks": {"true"}}); err != nil {
			return err
		}
	}
	return nil
}

// Settle does nothing: the bot goes on without this terminal.
func (a *Attached) Settle(context.Context) error { return nil }

// What was missed is read from the bot.

// catchUpAll asks for everything that the events since the last connection may have been about: places of messages, replies.
func (a *Attached) catchUpAll() {
	again, talks := a.missing()
	for _, m := range again { // known ones are accepted once more
		_, _ = askBot[messageTaken](a.ctx, a, http.MethodPost, m.conversation, "messages", nil, bodyOf(m.message)) // the next connection tries again
	}
	for _, conversation := range talks {
		a.catchUp(conversation)
	}
}

// catchUp shows what was sent in a conversation since the newest piece that was handled.
func (a *Attached) catchUp(conversation string) {
	for {
		a.Attachment.mu.Lock()
		row := a.rows[conversation]
		a.Attachment.mu.Unlock()
		list, err := askBot[sentList](a.ctx, a, http.MethodGet, conversation, "replies", url.Values{"after": {strconv.FormatInt(row, 10)}}, nil)
		if err != nil || len(list.Replies) == 0 { // the next connection tries again
			return
		}
		for _, e := range list.Replies {
			notice := channel.IsNotice(channel.Piece{Reply: e.Reply})
			if e.Text == "" && e.Failure && !notice {
				e.Text = sentences.In(a.Language(conversation)).Translate(terminal.TextLostReason)
			}
			if e.Text == "" || !a.shows(conversation, e.To...) {
				a.handled(e)
			} else {
				a.send(e)
			}
		}
	}
}
