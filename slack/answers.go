// Answers to commands: private or public.

package slack

import (
	"context"
	"encoding/json"
	"strings"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/internal/platform"
)

// answerer sends the answer of a command.
type answerer interface {
	answer(ctx context.Context, c command, a channel.Answer) error
	// replace puts another answer in the place of the first.
	replace(ctx context.Context, c command, a channel.Answer) error
	refuse(ctx context.Context, text string)
}

// privately answers over a response_url: only the sender sees it, unless the answer is public.
type privately struct {
	s        *Slack
	url      string
	public   bool
	replaces bool // the answer takes the place of the message with the button, or of the first answer
}

func (p *privately) answer(ctx context.Context, c command, a channel.Answer) error {
	p.public = p.public && !a.Private
	text, all := blocks(c, a)
	m := &slackgo.WebhookMessage{Text: text, ReplaceOriginal: p.replaces && !a.Private}
	if len(all) > 0 {
		m.Blocks = &slackgo.Blocks{BlockSet: all}
	}
	return p.respond(ctx, m)
}

func (p *privately) replace(ctx context.Context, c command, a channel.Answer) error {
	p.replaces = true
	return p.answer(ctx, c, a)
}

// refuse sends a refusal that only the sender sees.
func (p *privately) refuse(ctx context.Context, text string) {
	p.public = false
	if err := p.respond(ctx, &slackgo.WebhookMessage{Text: text}); err != nil && ctx.Err() == nil {
		p.s.log.Debug("refusal_answer_failed", "error", err)
	}
}

// respond uses the response_url, which works a few times. After a failure the message may have
// arrived all the same, so the next one replaces it.
func (p *privately) respond(ctx context.Context, m *slackgo.WebhookMessage) error {
	m.ResponseType = slackgo.ResponseTypeEphemeral
	if p.public {
		m.ResponseType = slackgo.ResponseTypeInChannel
	}
	for try := 1; ; try++ {
		err := platform.WithoutURL(slackgo.PostWebhookCustomHTTPContext(ctx, p.url, p.s.api.http, m))
		if _, limited := rateLimit(err); limited {
			try--
		} else if err == nil || try == editTries || ctx.Err() != nil {
			return err
		}
		m.ReplaceOriginal = m.ReplaceOriginal || mayHaveHappened(err)
		if err := sleepAfter(ctx, err, p.s.times.backoff); err != nil {
			return err
		}
	}
}

// openly answers with a message.
type openly struct {
	s       *Slack
	place   channel.Place
	answers string // the ts of the command
	ts      string // of the answer
}

const answerType = "cairn_answer"

// answer posts the answer. After a failure it looks for the message, which may have arrived all the
// same.
func (o *openly) answer(ctx context.Context, c command, a channel.Answer) (err error) {
	if a.Private && !o.place.Direct() {
		return o.answerPrivately(ctx, c, a)
	}
	options := append(o.say(c, a), slackgo.MsgOptionMetadata(slackgo.SlackMetadata{
		EventType: answerType, EventPayload: map[string]any{"answers": o.answers},
	}))
	if o.place.Thread != "" {
		options = append(options, slackgo.MsgOptionTS(o.place.Thread))
	}
	for try := 1; ; try++ {
		if _, o.ts, err = o.s.api.write.PostMessageContext(ctx, o.place.Channel, options...); err == nil {
			o.s.finished.Set(o.place.Channel+"/"+o.ts, "")
			return nil
		}
		if try == editTries || !mayHaveHappened(err) || platform.Sleep(ctx, o.s.times.backoff) != nil {
			return err
		}
		own, unknown := o.s.sent(ctx, o.place, o.answers)
		if unknown != nil {
			return err
		}
		for _, m := range own {
			if m.Metadata.EventType == answerType && m.Metadata.EventPayload["answers"] == o.answers {
				o.ts = m.Timestamp
				return nil
			}
		}
	}
}

// answerPrivately posts an answer that only the sender sees. It has no ts and cannot be edited.
func (o *openly) answerPrivately(ctx context.Context, c command, a channel.Answer) error {
	options := o.say(c, a)
	if o.place.Thread != "" {
		options = append(options, slackgo.MsgOptionTS(o.place.Thread))
	}
	_, err := o.s.api.write.PostEphemeralContext(ctx, o.place.Channel, c.who.ID, options...)
	return err
}

func (o *openly) replace(ctx context.Context, c command, a channel.Answer) error {
	return o.s.repeatEdit(ctx, func() error {
		_, _, _, err := o.s.api.write.UpdateMessageContext(ctx, o.place.Channel, o.ts, o.say(c, a)...)
		return err
	})
}

// refuse does nothing: everybody would read it.
func (o *openly) refuse(context.Context, string) {}

func (o *openly) say(c command, a channel.Answer) []slackgo.MsgOption {
	text, all := blocks(c, a)
	options := []slackgo.MsgOption{slackgo.MsgOptionText(text, false)}
	if len(all) > 0 {
		options = append(options, slackgo.MsgOptionBlocks(all...))
	}
	return options
}

const (
	maxSection = 3_000        // characters of a section
	maxBlocks  = 50           // of a message
	maxValue   = 2_000        // characters that a button carries
	runAction  = "cairn_page" // begins the action ids of buttons that run a command
)

// blocks renders one page of an answer, with buttons for the pages beside it; text is what
// notifications show. It drops what does not fit a message.
func blocks(c command, a channel.Answer) (text string, all []slackgo.Block) {
	a = a.Fenced()
	shown := a.Page(c.page)
	buttons := pageButtons(c, a)
	if a.Pages() > 1 && buttons == nil {
		shown = a.String() // the line is too long for a button
	}
	if shown == "" {
		shown = "Done."
	}
	pieces := split(shown, maxSection, plainCost)
	for _, piece := range pieces[:min(len(pieces), maxBlocks-1)] {
		if strings.TrimSpace(piece) != "" {
			all = append(all, slackgo.NewSectionBlock(slackgo.NewTextBlockObject(slackgo.MarkdownType, escaped(piece), false, false), nil, nil))
		}
	}
	if len(all) == 1 && buttons == nil {
		return escaped(pieces[0]), nil // the text is enough
	}
	if buttons != nil {
		all = append(all, slackgo.NewActionBlock("", buttons...))
	}
	return escaped(pieces[0]), all
}

func pageButtons(c command, a channel.Answer) []slackgo.BlockElement {
	if a.Pages() < 2 {
		return nil
	}
	page := min(max(c.page, 0), a.Pages()-1)
	var buttons []slackgo.BlockElement
	for _, b := range []struct {
		label string
		page  int
	}{{"Previous", page - 1}, {"Next", page + 1}} {
		if b.page < 0 || b.page >= a.Pages() {
			continue
		}
		button := buttonOf(b.label, pressed{Line: c.line, Page: b.page, Thread: c.place.Thread})
		if button == nil {
			return nil
		}
		buttons = append(buttons, button)
	}
	return buttons
}

// buttonOf is a button that runs a command; nil if its line is too long for one.
func buttonOf(label string, does pressed) slackgo.BlockElement {
	value, err := json.Marshal(does)
	if err != nil || len(value) > maxValue {
		return nil
	}
	return slackgo.NewButtonBlockElement(runAction+strings.ToLower(label), string(value), slackgo.NewTextBlockObject(slackgo.PlainTextType, label, false, false))
}

// asking is a message with buttons that run commands.
func asking(place channel.Place, text string, buttons []channel.Button) slackgo.MsgOption {
	var row []slackgo.BlockElement
	for _, b := range buttons {
		if button := buttonOf(b.Label, pressed{Line: b.Line, Thread: place.Thread}); button != nil {
			row = append(row, button)
		}
	}
	section := slackgo.NewSectionBlock(slackgo.NewTextBlockObject(slackgo.MarkdownType, escaped(text), false, false), nil, nil)
	return slackgo.MsgOptionBlocks(section, slackgo.NewActionBlock("", row...))
}
