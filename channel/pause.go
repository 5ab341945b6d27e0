package channel

import (
	"context"
	"fmt"
	"slices"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/compactor"
	"cairn/store"
)

// While a conversation or the whole bot is paused, messages are kept as context, and no model is called.

// everywhere is the scope of a pause of the whole bot.
const everywhere = ""

var errPaused = fmt.Errorf("the bot is paused: %w", compactor.ErrSpent)

// paused reports whether no model may be called here.
func (s *site) paused(ctx context.Context) bool {
	here, all, err := pausedIn(ctx, s.records.Store(), s.account())
	switch {
	case err == nil:
		if s.unreadPauses.End() {
			s.o.Log.Info("read_pause_recovered")
		}
	case ctx.Err() == nil:
		s.log.Log(ctx, s.unreadPauses.Begin(), "read_pause_failed", "error", err)
	}
	return here || all
}

// Pause stops a conversation, or with "" the whole bot, from calling any model until Resume.
func (o Operator) Pause(ctx context.Context, name string, by access.Person) error {
	if err := o.hub.o.Store.Pauses().Pause(ctx, name, by.Typist()); err != nil {
		return err
	}
	o.inScope(name, (*conversation).interrupt)
	return nil
}

// inScope runs do with the open conversations that a pause concerns: with name its tasks, too.
func (o Operator) inScope(name string, do func(*conversation)) {
	for c := range o.hub.all() {
		if name == everywhere || c.account() == name {
			do(c)
		}
	}
}

// Resume ends a pause. The tasks it held up continue immediately.
func (o Operator) Resume(ctx context.Context, name string) error {
	if err := o.hub.o.Store.Pauses().Resume(ctx, name); err != nil {
		return err
	}
	o.inScope(name, (*conversation).wake)
	if name == everywhere {
		return o.hub.fleet.wakeTasks(ctx)
	}
	return nil
}

// Paused reports whether a conversation, and whether the whole bot is paused.
func (o Operator) Paused(ctx context.Context, name string) (here, all bool, err error) {
	return pausedIn(ctx, o.hub.o.Store, name)
}

func pausedIn(ctx context.Context, s *store.Store, name string) (here, all bool, err error) {
	scopes, err := s.Pauses().List(ctx)
	return slices.Contains(scopes, name), slices.Contains(scopes, everywhere), err
}

// WhySilent tells people why the bot does not answer in a conversation; "" if it does.
func (o Operator) WhySilent(ctx context.Context, conversation string) (words string) {
	switch here, all, _ := o.Paused(ctx, conversation); {
	case o.hub.access.Rules().RespondIn(conversation) == access.RespondNever:
		words = command.TextRefused
	case all:
		words = "I am still paused everywhere; /resume everywhere ends the pause."
	case here:
		words = "I am still paused here; /resume ends the pause."
	}
	return o.hub.voice(conversation).speaker().Say(words)
}
