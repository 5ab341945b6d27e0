package channel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"cairn/channel/access"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
)

// A question about a tool's call outlives the turn that asked it: what people answer after a restart, or days later, counts. A call that
// is allowed then is made when the model repeats it, for which a message of the person starts a turn.

const (
	approvalsLast = 30 * 24 * time.Hour      // how long people may answer
	allowedLasts  = time.Hour                // how long the model may make a call that was allowed late
	allowedPrefix = store.OwnID + "allowed-" // begins the ids of the messages that resume; the code follows
)

// callOf identifies a call with its arguments, however the model writes their JSON.
func callOf(t llm.Tool, arguments []byte) string {
	return fmt.Sprintf("%s#%x", definition(t), sha256.Sum256(canonical(arguments)))[:len(t.Name)+9+1+16]
}

// canonical returns JSON without blanks and with its keys in order; as it is, if that would not say the same.
func canonical(text []byte) []byte {
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if !json.Valid(text) || d.Decode(&value) != nil {
		return text
	}
	same, err := json.Marshal(value)
	if err != nil || tokensOf(same) != tokensOf(text) { // a key is there twice, and tools may read either value
		return text
	}
	return same
}

// tokensOf counts the tokens of JSON.
func tokensOf(text []byte) (n int) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		if _, err := d.Token(); err != nil {
			return n
		}
		n++
	}
}

// ask returns the code of the question about a call of a turn: the one that an earlier process has asked in the turn, or a new one.
// allowed: it is not asked, because somebody has allowed the call since. That holds for this one call, soon, and only where people expect
// it: in the turn that asked, or in one with the message that resumes it.
func (a *approvals) ask(ctx context.Context, t llm.Tool, call, fresh string) (code string, allowed bool, err error) {
	now := store.AskedCall{Code: fresh, Call: call, Tool: t.Name, Asked: time.Now()}
	said, err := a.saidNow()
	if err != nil {
		return "", false, err
	}
	if turn := a.loop.turn.Load(); turn != nil {
		now.Turn = turn.Seq
	}
	mayMake := func(c store.AskedCall) bool {
		return c.Call == call && !c.Allowed.IsZero() && (c.Turn == now.Turn || slices.Contains(said, allowedPrefix+c.Code))
	}
	err = a.records.Settings().UpdateAsked(ctx, func(asked []store.AskedCall) []store.AskedCall {
		asked = slices.DeleteFunc(asked, isOld)
		if i := slices.IndexFunc(asked, mayMake); i >= 0 {
			allowed = true
			return slices.Delete(asked, i, i+1)
		}
		if i := slices.IndexFunc(asked, func(c store.AskedCall) bool { return c.Call == call && c.Turn == now.Turn }); i >= 0 {
			now.Code = asked[i].Code
			return asked
		}
		asked = slices.DeleteFunc(asked, func(c store.AskedCall) bool { return c.Call == call && c.Allowed.IsZero() }) // people see the newest question
		return append(asked, now)
	})
	return now.Code, allowed, err
}

// saidNow returns the ids of the messages of the running turn, with those that it has read since it started.
func (a *approvals) saidNow() (ids []string, err error) {
	turn := a.loop.turn.Load()
	if turn == nil {
		return nil, nil
	}
	err = a.loop.tryDo(func(e *compactor.Compactor) {
		for _, m := range e.View().Turn(turn.Seq) {
			if m.Role == llm.RoleUser {
				ids = append(ids, m.ID)
			}
		}
	})
	return ids, err
}

// isOld reports whether nobody can answer a question any more, or whether the call was not made soon after it was allowed.
func isOld(c store.AskedCall) bool {
	return time.Since(c.Asked) > approvalsLast || !c.Allowed.IsZero() && time.Since(c.Allowed) > allowedLasts
}

// settle removes a question: it was answered, or nobody needs its answer.
func (a *approvals) settle(ctx context.Context, code string) error {
	return a.records.Settings().UpdateAsked(context.WithoutCancel(ctx), func(asked []store.AskedCall) []store.AskedCall {
		return slices.DeleteFunc(asked, func(c store.AskedCall) bool { return c.Code == code })
	})
}

// answerLate allows or denies a call for which nothing waits any more; found is false if there is none with this code.
func (h commandHost) answerLate(ctx context.Context, code string, who access.Person, by string, allow bool) (text string, found bool, err error) {
	for _, name := range slices.Compact([]string{h.c.name, aboveOf(h.c.name)}) {
		records, err := h.hub.stored(ctx, name)
		if err != nil {
			return "", false, err
		}
		if records == nil {
			continue
		}
		if allow {
			if err := h.pausedCall(ctx, records, code); err != nil {
				return "", false, err
			}
		}
		asked, question, err := decideLate(ctx, records, code, allow)
		if err != nil {
			return "", false, err
		}
		if question.Seq == 0 {
			continue
		}
		h.hub.o.Log.Info("tool_approval_answered", "conversation", name, "tool", asked.Tool, "code", asked.Code, "allowed", allow, "by", by)
		speaker := h.c.speaker()
		if !allow {
			return speaker.Sayf("%s refused the call of %s.", by, asked.Tool), true, nil
		}
		return speaker.Sayf("%s allowed the call of %s; I go on with it.", by, asked.Tool), true, h.resumeCall(ctx, records, asked, question, who)
	}
	return "", false, nil
}

// pausedCall returns why nothing would go on with an allowed call, as an error for the person: the conversation is paused. The question stays.
func (h commandHost) pausedCall(ctx context.Context, records *store.Conversation, code string) error {
	here, all, err := h.operator().Paused(ctx, records.Name())
	if err != nil || !here && !all {
		return err
	}
	asked, err := records.Settings().Asked(ctx)
	i := slices.IndexFunc(asked, func(c store.AskedCall) bool { return c.Code == code && !isOld(c) })
	if err != nil || i < 0 {
		return err
	}
	words := h.operator().WhySilent(ctx, records.Name())
	stays := h.c.speaker().Sayf("I go on with the call of %s if somebody allows it after that: the question stays.", asked[i].Tool)
	return sentences.Problem{Text: words + " " + stays, Private: true} // otherwise it would replace the question with its buttons
}

// decideLate notes the answer to a question about a call. said is the message that the call was for; zero: there is no such question, or
// that message was deleted, and nothing is allowed.
func decideLate(ctx context.Context, records *store.Conversation, code string, allow bool) (decided store.AskedCall, said chat.Message, err error) {
	settings := records.Settings()
	asked, err := settings.Asked(ctx)
	if err != nil {
		return decided, said, err
	}
	withCode := func(c store.AskedCall) bool { return c.Code == code }
	i := slices.IndexFunc(asked, withCode)
	if i < 0 {
		return decided, said, nil
	}
	said, err = records.Transcript().Message(ctx, asked[i].Turn)
	gone := errors.Is(err, store.ErrNotFound)
	if err != nil && !gone {
		return decided, said, err
	}
	found := false
	err = settings.UpdateAsked(ctx, func(asked []store.AskedCall) []store.AskedCall {
		asked = slices.DeleteFunc(asked, isOld)
		i := slices.IndexFunc(asked, withCode)
		found = i >= 0 && !gone
		if i < 0 {
			return asked
		}
		decided = asked[i]
		if gone || !allow {
			return slices.Delete(asked, i, i+1)
		}
		if decided.Allowed.IsZero() { // who presses twice does not prolong it
			asked[i].Allowed = time.Now()
		}
		return asked
	})
	if err != nil || !found {
		return decided, chat.Message{}, err
	}
	return decided, said, nil
}

// resumeCall has a call made that somebody allowed: by the turn that asked, which reads the message of this if it goes on, or by a turn
// that this starts, whose answer goes where that of the turn went. A turn that is about to be repeated, after a crash, needs no message.
func (h commandHost) resumeCall(ctx context.Context, records *store.Conversation, asked store.AskedCall, said chat.Message, who access.Person) error {
	running := h.operator().turnIn(records.Name())
	goesOn := running != nil && running.Seq == asked.Turn
	if !goesOn {
		turn, open, err := records.Turns().Unanswered(ctx)
		if err != nil || open && turn.Seq == asked.Turn {
			return err
		}
	}
	_, err := h.hub.take(ctx, records.Name(), []Inbound{{
		ID: allowedPrefix + asked.Code, AuthorID: who.ID, Author: who.Name, Time: time.Now(), Addressed: true, Steers: goesOn, ReplyTo: said.ID,
		Text: h.c.speaker().Sayf("I allow the call of %s that you asked about.", asked.Tool),
	}})
	return err
}

// aboveOf returns the name of a thread's channel; of another conversation, its own.
func aboveOf(name string) string {
	place := chat.ParsePlace(name)
	place.Thread = ""
	return place.String()
}
