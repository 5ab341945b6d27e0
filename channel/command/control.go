package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"time"

	"cairn/channel/sentences"
	"cairn/store"
)

// Commands that decide whether the bot answers, and what it may do.

// runStop stops the turn whose answer people see here, and answering unasked in a thread.
func runStop(ctx context.Context, c *Call) (Answer, error) {
	following, err := c.Records.Settings().Following(ctx)
	if err == nil && following { // written first, so that no message that waits is answered; but the database may be busy
		defer time.AfterFunc(300*time.Millisecond, func() { c.Conversation.Stop(ctx) }).Stop()
		err = c.Records.Settings().Follow(ctx, false)
	}
	stopped := c.Conversation.Stop(ctx)
	switch {
	case following:
		return Answer{Text: "Stopped. I will answer in this thread again when someone mentions me."}, err
	case stopped:
		return Answer{Text: "Stopped."}, err
	}
	return Answer{Text: "There is nothing to stop."}, err
}

func runPause(ctx context.Context, c *Call) (Answer, error) {
	everywhere, err := pauseScope(c)
	if err == nil {
		err = c.Conversation.Pause(ctx, everywhere, c.Who)
	}
	if everywhere {
		return Answer{Text: c.Speaker.Sayf("I am paused everywhere until /resume everywhere. I keep listening.")}, err
	}
	return Answer{Text: c.Speaker.Sayf("I am paused here until /resume. I keep listening.")}, err
}

func runResume(ctx context.Context, c *Call) (Answer, error) {
	everywhere, err := pauseScope(c)
	if err == nil {
		err = c.Conversation.Resume(ctx, everywhere)
	}
	return Answer{Text: cmp.Or(c.Conversation.WhySilent(ctx), c.Speaker.Translate("I am answering again."))}, err
}

// pauseScope reads where a pause begins or ends: in this conversation, or everywhere.
func pauseScope(c *Call) (everywhere bool, err error) {
	switch strings.ToLower(c.Args) {
	case "":
		return false, nil
	case "everywhere":
		if !c.Rules.Owns(c.Records.Name(), c.Who) {
			return false, denial("Only my owners, as listed in the settings, may do that everywhere.")
		}
		return true, nil
	}
	return false, sentences.NewProblem(`Use no argument for this conversation, or "everywhere" for all of them.`)
}

func runAllow(ctx context.Context, c *Call) (Answer, error) { return decide(ctx, c, true) }
func runDeny(ctx context.Context, c *Call) (Answer, error)  { return decide(ctx, c, false) }

// decide allows or denies a call of a tool that waits for permission.
func decide(ctx context.Context, c *Call, allow bool) (Answer, error) {
	if !c.Rules.Trusts(c.Records.Name(), c.Who) {
		return Answer{}, denial("In a direct message, the owners and managers named in my settings file decide which tools I may call.")
	}
	outcome, ok, err := c.Conversation.Approve(ctx, c.Args, c.Who, cmp.Or(c.Who.Name, c.Speaker.Sayf("Somebody")), allow)
	if err != nil {
		return Answer{}, err
	}
	if !ok {
		// Private, so that a second press of a button does not replace the line that says who decided.
		return Answer{}, denial("No such tool call is waiting for approval here: it was answered, timed out, or was stopped.")
	}
	return Answer{Text: outcome}, nil
}

// runSteer delivers what a person wrote into the command as their message. Others see it in the answer.
func runSteer(ctx context.Context, c *Call) (Answer, error) {
	if c.Args == "" {
		return Answer{}, sentences.NewProblem(c.Speaker.Sayf("Write what I should know: /steer and your text."))
	}
	id := "said-" + strings.ToLower(rand.Text()[:10])
	if _, err := c.Conversation.Say(ctx, c.Who, id, c.Args, true); err != nil {
		return Answer{}, err
	}
	text := cmp.Or(c.Who.Name, c.Speaker.Sayf("Somebody")) + ": " + c.Args
	forget := Button{Label: "Forget this", Line: "/forget " + messagePrefix + store.OwnID + id}
	return Answer{Text: strings.TrimSpace(text + "\n" + c.Conversation.WhySilent(ctx)), Buttons: []Button{forget}}, nil
}
