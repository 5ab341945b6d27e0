// Places in which the bot may not write: what is known of them, the log, and what Check reports.

package platform

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
)

// unwritable remembers where the bot may not write, by conversation.
type unwritable struct {
	mu    sync.Mutex // guards known
	known map[string]refusal
}

type refusal struct {
	why string
	at  time.Time // when it was last found out
}

// NoteWritable notes why the bot may not write in a conversation; "" if it may. It logs each change once.
func (b *Base) NoteWritable(conversation, why string) {
	before := b.unwritable.set(conversation, why)
	switch {
	case why == before:
	case why == "":
		b.Log.Info("writing_recovered", "conversation", conversation)
	default:
		b.Log.Warn("writing_refused", "conversation", conversation, "reason", why)
	}
}

func (u *unwritable) set(conversation, why string) (before string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before = u.known[conversation].why
	if why == "" {
		delete(u.known, conversation)
		return before
	}
	if u.known == nil {
		u.known = make(map[string]refusal)
	}
	u.known[conversation] = refusal{why, time.Now()}
	return before
}

// WritingRefused returns why the bot may not write in a conversation, if that was found out within the last span; "" if not.
func (b *Base) WritingRefused(conversation string, span time.Duration) (why string) {
	b.unwritable.mu.Lock()
	defer b.unwritable.mu.Unlock()
	found := b.unwritable.known[conversation]
	if time.Since(found.at) >= span {
		return ""
	}
	return found.why
}

// teller is a connector that can tell one person what it may not write for all.
type teller interface {
	channel.WriteChecker
	channel.Whisperer
}

// Reaching returns a Show of a written command, which answers the person alone where the bot may not write.
func Reaching(connector teller, name string, who access.Person, show Show) Show {
	return func(ctx context.Context, answer command.Answer) (err error) {
		if connector.CannotWrite(name) == "" {
			err = show(ctx, answer)
		}
		if connector.CannotWrite(name) == "" { // show may have found out that it may not
			return err
		}
		return connector.Whisper(ctx, name, who.ID, answer.Fenced().String())
	}
}

// CheckTime limits how long Check looks for places in which the bot may not write.
const CheckTime = 10 * time.Second

const maxUnwritable = 10 // places that Check names

// UnwritableFacts returns what Check reports of places in which the bot may not write; it sorts them by what people call them.
func UnwritableFacts(all []channel.Unwritable) (facts []string) {
	slices.SortFunc(all, func(a, b channel.Unwritable) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Conversation, b.Conversation))
	})
	for _, u := range all[:min(len(all), maxUnwritable)] {
		facts = append(facts, fmt.Sprintf("warning: in %s: %s", cmp.Or(u.Label, u.Conversation), u.Why))
	}
	if more := len(all) - maxUnwritable; more > 0 {
		facts = append(facts, fmt.Sprintf("warning: the bot may not write in %d more places", more))
	}
	return facts
}
