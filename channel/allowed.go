package channel

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"cairn/channel/access"
	"cairn/chat"
	"cairn/llm"
	"cairn/store"
)

// A question about a tool's call outlives the turn that asked it: what people answer after a restart, or days later, counts. A call that
// is allowed then is made when the model repeats it, for which a message of the person starts a turn.

// approvalsLast is how long people may answer.
const approvalsLast = 30 * 24 * time.Hour

// callOf identifies a call with its arguments.
func callOf(t llm.Tool, arguments []byte) string {
	return fmt.Sprintf("%s#%x", definition(t), sha256.Sum256(arguments))[:len(t.Name)+9+1+16]
}

// ask returns the code of the question about a call of a turn: the one that an earlier process has asked in the turn, or a new one.
// allowed: it is not asked, because somebody has allowed the call since.
func (a *approvals) ask(ctx context.Context, t llm.Tool, call, fresh string) (code string, allowed bool, err error) {
	now := store.AskedCall{Code: fresh, Call: call, Tool: t.Name, Asked: time.Now()}
	if turn := a.loop.turn.Load(); turn != nil {
		now.Turn = turn.Seq
	}
	err = a.records.Settings().UpdateAsked(ctx, func(asked []store.AskedCall) []store.AskedCall {
		i := slices.IndexFunc(asked, func(c store.AskedCall) bool { return c.Call == call })
		switch {
		case i >= 0 && asked[i].Allowed:
			allowed = true
			return slices.Delete(asked, i, i+1)
		case i >= 0 && asked[i].Turn == now.Turn:
			now.Code = asked[i].Code
			return asked
		case i >= 0: // people see the newest question
			asked = slices.Delete(asked, i, i+1)
		}
		return append(asked, now)
	})
	return now.Code, allowed, err
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
		return speaker.Sayf("%s allowed the call of %s; I make it now.", by, asked.Tool), true, h.resumeCall(ctx, records, asked, question, who)
	}
	return "", false, nil
}

// decideLate notes the answer to a question about a call. said is the message that the call was for; zero: there is no such question, or
// that message was deleted.
func decideLate(ctx context.Context, records *store.Conversation, code string, allow bool) (decided store.AskedCall, said chat.Message, err error) {
	found := false
	err = records.Settings().UpdateAsked(ctx, func(asked []store.AskedCall) []store.AskedCall {
		asked = slices.DeleteFunc(asked, func(c store.AskedCall) bool { return time.Since(c.Asked) > approvalsLast })
		i := slices.IndexFunc(asked, func(c store.AskedCall) bool { return c.Code == code })
		found = i >= 0
		if !found {
			return asked
		}
		decided = asked[i]
		if !allow {
			return slices.Delete(asked, i, i+1)
		}
		asked[i].Allowed = true
		return asked
	})
	if err != nil || !found {
		return decided, said, err
	}
	said, err = records.Transcript().Message(ctx, decided.Turn)
	if errors.Is(err, store.ErrNotFound) {
		return decided, chat.Message{}, nil
	}
	return decided, said, err
}

// resumeCall has a call made that somebody allowed: by the turn that asked, if that is about to be repeated, or by one that this starts,
// whose answer goes where that of the turn went.
func (h commandHost) resumeCall(ctx context.Context, records *store.Conversation, asked store.AskedCall, said chat.Message, who access.Person) error {
	turn, open, err := records.Turns().Unanswered(ctx)
	if err != nil || open && turn.Seq == asked.Turn {
		return err
	}
	_, err = h.hub.take(ctx, records.Name(), []Inbound{{
		ID: store.OwnID + "allowed-" + asked.Code, AuthorID: who.ID, Author: who.Name, Time: time.Now(), Addressed: true, ReplyTo: said.ID,
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
