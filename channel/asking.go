package channel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/store"
)

// How a process has the owner of a conversation do what only the owner can, and does what others ask of it.

const (
	takenWithin    = 15 * time.Second // after a process was killed, its conversations have a new owner within LeaseLasts and a second
	answeredWithin = 30 * time.Second // more, once the owner has taken it
)

// Answerer does what another process asks the owner of a conversation. If its answer only announces what it has started, conclude,
// unless nil, waits for that. Neither may panic, nor return nothing.
type Answerer func(ctx context.Context, conversation string, body []byte) (answer []byte, conclude func(ctx context.Context) []byte)

// asking is what this process asks of owners of conversations, and what it answers as one. It is safe for concurrent use.
type asking struct {
	*environment
	requests store.Requests
	heard    bell // others may have written something

	mu        sync.Mutex          // guards answerers
	answerers map[string]Answerer // by kind of request
}

// Answers sets what handles requests of a kind. Processes that do not handle it refuse it.
func (k *asking) Answers(kind string, do Answerer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answerers[kind] = do
}

// refusal is the answer of a process that does not handle a kind of requests.
const refusal = "null"

// answer does what other processes ask of conversations that this one owns.
func (k *asking) answer(ctx context.Context) error {
	asked, err := k.requests.Take(ctx)
	for _, one := range asked {
		k.goroutines.start(func() {
			if err := k.answerOne(ctx, one); err != nil && ctx.Err() == nil {
				k.o.Log.Warn("answer_process_failed", "conversation", one.Conversation, "kind", one.Kind, "error", err)
			}
		})
	}
	return err
}

func (k *asking) answerOne(ctx context.Context, asked store.Request) error {
	k.mu.Lock()
	do := k.answerers[asked.Kind]
	k.mu.Unlock()
	if do == nil {
		return k.requests.Answer(ctx, asked.ID, refusal)
	}
	inTime, cancel := context.WithTimeout(ctx, answeredWithin)
	defer cancel()
	answer, conclude := do(inTime, asked.Conversation, []byte(asked.Body))
	if conclude == nil {
		return k.requests.Answer(ctx, asked.ID, string(answer))
	}
	err := k.requests.Announce(ctx, asked.ID, string(answer))
	if err == nil {
		err = k.requests.Conclude(ctx, asked.ID, string(conclude(ctx)))
	}
	return err
}

// wakeTasks has the open tasks of other processes go on after a pause.
func (f *Fleet) wakeTasks(ctx context.Context) error {
	if f == nil {
		return nil
	}
	return f.lease.WakeTasks(ctx)
}

// OwnedElsewhere reports whether another process owns a conversation.
func (f *Fleet) OwnedElsewhere(ctx context.Context, conversation string) (bool, error) {
	root, _ := store.RootOf(conversation)
	return store.OwnedElsewhere(ctx, f.lease, root)
}

// MarksElsewhere returns texts that change with the conversations of other processes, by name.
func (f *Fleet) MarksElsewhere(ctx context.Context) (map[string]string, error) {
	return store.MarksElsewhere(ctx, f.lease)
}

// Ask has the owner of a conversation handle a request, and returns its answer. conclude waits until ctx ends for what the answer
// announces; nil: nothing. store.ErrOwned: no process could be asked, and nothing was done. store.ErrUnknown: the owner has ended, or was
// too slow, and may have done it or not.
func (k *asking) Ask(ctx context.Context, conversation, kind string, body []byte) (answer []byte, conclude func(context.Context) ([]byte, error), err error) {
	records, err := k.o.Store.Conversation(ctx, conversation)
	if err != nil {
		return nil, nil, err
	}
	id, err := k.requests.Ask(ctx, records, kind, string(body))
	if err != nil {
		return nil, nil, err
	}
	a := asked{k, id}
	_, err = a.await(ctx, takenWithin, func(r store.Response) bool { return r.Taken })
	if err != nil {
		return nil, nil, a.giveUp()
	}
	now, err := a.await(ctx, answeredWithin, func(r store.Response) bool { return r.Answer != "" })
	if err != nil || now.Outcome != "" {
		known := a.giveUp()
		switch {
		case err != nil:
			return nil, nil, known
		case now.Answer == refusal:
			return nil, nil, store.ErrOwned
		}
		return []byte(now.Answer), nil, nil
	}
	return []byte(now.Answer), func(ctx context.Context) ([]byte, error) {
		now, err := a.await(ctx, forever, func(r store.Response) bool { return r.Outcome != "" })
		known := a.giveUp()
		if err != nil {
			return nil, known
		}
		return []byte(now.Outcome), nil
	}, nil
}

// asked is a request to the owner of a conversation.
type asked struct {
	asking *asking
	id     int64
}

const forever = time.Duration(math.MaxInt64)

// await returns what is known of the request when it is done. An error says that this does not happen any more, or not in time.
func (a asked) await(ctx context.Context, within time.Duration, done func(store.Response) bool) (now store.Response, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		heard := a.asking.heard.next()
		now, err = a.asking.requests.Response(ctx, a.id)
		switch {
		case err == nil && done(now):
			return now, nil
		case err == nil && now.Lost, errors.Is(err, store.ErrNotFound):
			return now, store.ErrUnknown
		}
		select {
		case <-heard:
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
}

// giveUp ends the request, and returns what is known of it then: ErrOwned, nobody does it, or ErrUnknown.
func (a asked) giveUp() error {
	ctx, cancel := context.WithTimeout(a.asking.life, pollEvery)
	defer cancel()
	untouched, err := a.asking.requests.Drop(ctx, a.id)
	if err == nil && untouched {
		return store.ErrOwned
	}
	return store.ErrUnknown
}

// commandRequest is the kind of requests to run what a person typed, or pressed.
const commandRequest = "command"

type commandAsked struct {
	Who  access.Person
	Line string
}

type commandAnswered struct {
	command.Answer
	Refused bool
}

// askOwner has the owner of a conversation run a command.
func (h *Hub) askOwner(ctx context.Context, name string, who access.Person, line string) (command.Answer, error) {
	body, err := json.Marshal(commandAsked{who, line})
	if err != nil {
		return command.Answer{}, err
	}
	text, conclude, err := h.fleet.Ask(ctx, name, commandRequest, body)
	if err != nil {
		return command.Answer{}, err
	}
	var answered commandAnswered
	if err := json.Unmarshal(text, &answered); err != nil {
		return command.Answer{}, fmt.Errorf("read the answer of another process: %w", err)
	}
	if answered.Refused {
		return command.Answer{}, ErrRefused
	}
	if conclude != nil {
		answered.Then = func(ctx context.Context) (final command.Answer) {
			outcome, err := conclude(ctx)
			if err == nil && json.Unmarshal(outcome, &final.Text) != nil { // a text is of a process of the version before
				err = json.Unmarshal(outcome, &final)
			}
			if err != nil {
				return command.Answer{Text: h.commandFailed(name, err)}
			}
			return final
		}
	}
	return answered.Answer, nil
}

// runAsked runs a command for another process.
func (h *Hub) runAsked(ctx context.Context, name string, body []byte) (answer []byte, conclude func(context.Context) []byte) {
	var asked commandAsked
	err := json.Unmarshal(body, &asked)
	var answered commandAnswered
	if err == nil {
		answered.Answer, _, err = h.run(ctx, name, asked.Who, asked.Line, false)
	}
	answered.Refused = errors.Is(err, ErrRefused)
	answered.Private = answered.Private || err != nil
	if then := answered.Then; then != nil {
		conclude = func(ctx context.Context) []byte {
			outcome, err := json.Marshal(then(ctx))
			if err != nil {
				return []byte(refusal)
			}
			return outcome
		}
	}
	answer, err = json.Marshal(answered)
	if err != nil {
		return []byte(refusal), nil
	}
	return answer, conclude
}
