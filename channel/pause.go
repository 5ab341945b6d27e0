package channel

import (
	"context"
	"errors"
	"slices"

	"cairn/llm"
	"cairn/store"
)

// The kill switch: while a conversation or the whole bot is paused, messages are kept as context,
// and no model is called.

// everywhere is the scope of a pause of the whole bot.
const everywhere = ""

func (c *conversation) paused(ctx context.Context) bool {
	scopes, err := c.hub.o.Store.Pauses().List(ctx)
	if err != nil {
		c.log.Warn("read_pause_failed", "error", err)
		return false
	}
	return slices.Contains(scopes, everywhere) || slices.Contains(scopes, c.account())
}

// switched is a model that refuses to work while the conversation is paused.
type switched struct {
	llm.Model
	c   *conversation
	own llm.Learnt // for a model that keeps no record itself
}

var errPaused = errors.New("the bot is paused")

// Learnt returns what is known about the model itself.
func (s *switched) Learnt() *llm.Learnt { return llm.LearntOf(s.Model, &s.own) }

func (s *switched) Generate(ctx context.Context, req llm.Request, show func(string)) (llm.Response, error) {
	if s.c.paused(ctx) {
		return llm.Response{}, errPaused
	}
	return s.Model.Generate(ctx, req, show)
}

func runPause(ctx context.Context, c *conversation, who Person, where string) (Answer, error) {
	scope, err := c.scope(who, where)
	if err != nil {
		return Answer{}, err
	}
	if err := c.hub.o.Store.Pauses().Pause(ctx, scope, who.Name); err != nil {
		return Answer{}, err
	}
	if scope == everywhere {
		for _, other := range c.hub.all() {
			other.interrupt()
			c.hub.release(other)
		}
		return Answer{Text: c.sayf("I am silent everywhere until /resume everywhere. I go on listening.")}, nil
	}
	c.interrupt()
	return Answer{Text: c.sayf("I am silent here until /resume. I go on listening.")}, nil
}

func runResume(ctx context.Context, c *conversation, who Person, where string) (Answer, error) {
	scope, err := c.scope(who, where)
	if err != nil {
		return Answer{}, err
	}
	if err := c.hub.resume(ctx, scope); err != nil {
		return Answer{}, err
	}
	if scope == c.name && c.paused(ctx) {
		return Answer{Text: c.sayf("I am still paused everywhere; /resume everywhere ends that.")}, nil
	}
	return Answer{Text: "I answer again."}, nil
}

// resume ends a pause. The tasks it held up continue immediately.
func (h *Hub) resume(ctx context.Context, scope string) error {
	if err := h.o.Store.Pauses().Resume(ctx, scope); err != nil {
		return err
	}
	for _, c := range h.all() {
		if root, depth := store.RootOf(c.name); depth > 0 && (scope == everywhere || scope == root) {
			c.wake()
		}
		h.release(c)
	}
	return nil
}

// scope returns the scope that a person wants to pause.
func (c *conversation) scope(who Person, where string) (string, error) {
	switch where {
	case "":
		return c.name, nil
	case "everywhere":
		if place := ParsePlace(c.name); !c.hub.access(place).owns(who, place) {
			return "", errDenied("Only my owners, as the settings name them, may do that everywhere.")
		}
		return everywhere, nil
	}
	return "", errPeople(`Leave it out for this conversation, or say "everywhere".`)
}

// interrupt stops the running turn, if there is one.
func (c *conversation) interrupt() (stopped bool) {
	turn := c.turn.Load()
	if turn != nil {
		turn.stop(errStopped)
	}
	return turn != nil
}
