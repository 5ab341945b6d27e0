package channel

import (
	"cmp"
	"context"
	"strings"
)

// Commands that decide whether the bot answers, and what it may do.

func runStop(ctx context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	following, err := c.records.Settings().Following(ctx)
	if err != nil {
		return Answer{}, err
	}
	if following {
		if err := c.records.Settings().Follow(ctx, false); err != nil {
			return Answer{}, err
		}
	}
	switch stopped := c.interruptHere(); {
	case following:
		return Answer{Text: "Stopped. I will answer in this thread again when someone mentions me."}, nil
	case stopped:
		return Answer{Text: "Stopped."}, nil
	}
	return Answer{Text: "There is nothing to stop."}, nil
}

func runPause(ctx context.Context, c *conversation, who Person, where string) (Answer, error) {
	scope, err := c.scope(who, where)
	if err != nil {
		return Answer{}, err
	}
	if err := c.hub.Operator().Pause(ctx, scope, who.Name); err != nil {
		return Answer{}, err
	}
	if scope == everywhere {
		return Answer{Text: c.sayf("I am paused everywhere until /resume everywhere. I keep listening.")}, nil
	}
	return Answer{Text: c.sayf("I am paused here until /resume. I keep listening.")}, nil
}

func runResume(ctx context.Context, c *conversation, who Person, where string) (Answer, error) {
	scope, err := c.scope(who, where)
	if err != nil {
		return Answer{}, err
	}
	if err := c.hub.Operator().Resume(ctx, scope); err != nil {
		return Answer{}, err
	}
	return Answer{Text: cmp.Or(c.hub.Operator().WhySilent(ctx, c.name), c.translated("I am answering again."))}, nil
}

// scope returns the scope that a person wants to pause.
func (c *conversation) scope(who Person, where string) (string, error) {
	switch strings.ToLower(where) {
	case "":
		return c.name, nil
	case "everywhere":
		if place := ParsePlace(c.name); !c.hub.access(place).owns(who, place) {
			return "", errDenied("Only my owners, named in the settings, may do that everywhere.")
		}
		return everywhere, nil
	}
	return "", errPeople(`Leave it out for this conversation, or say "everywhere".`)
}

// answersApproval returns the command that allows or denies a waiting call.
func answersApproval(allow bool) func(context.Context, *conversation, Person, string) (Answer, error) {
	return func(_ context.Context, c *conversation, who Person, code string) (Answer, error) {
		if !c.trusted(who) {
			return Answer{}, errDenied("In a direct message, the owners and managers named in my settings file decide which tools I may call.")
		}
		for _, name := range c.answeredHere() {
			if words, ok := c.hub.Operator().Approve(name, code, cmp.Or(who.Name, "Somebody"), allow); ok {
				return Answer{Text: words}, nil
			}
		}
		// Private, so that a second press of a button does not replace the line that says who decided.
		return Answer{}, errDenied("No such call is waiting for an answer here: it was answered, timed out, or was stopped.")
	}
}
