// The settings of a channel, in a modal that its managers open from the Home tab.

package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/sentences"
	"cairn/chat"
)

const (
	settingsView  = "cairn_settings" // the callback_id of the modal
	settingsInput = "value"          // the action_id of its inputs, whose blocks are named after the settings
	maxSetting    = 1000             // characters of a value, as in /settings
	maxHint       = 1500             // characters of the text below an input; Slack allows 2000

	textSlow    = "Slack took too long to answer. Choose the channel again."
	textNothing = "I keep nothing of that channel: I am not in it, or nobody has written there yet."
)

// inputBlock is an input of a submitted modal, as it was shown.
type inputBlock struct {
	ID      string `json:"block_id"`
	Element struct {
		Action  string `json:"action_id"`
		Initial string `json:"initial_value"`
	}
}

// onPlace opens the settings of a channel that a person has chosen. Slack waits for a modal as long as for an acknowledgement.
func (h *home) onPlace(p homePayload, chosen string, page homePage) {
	place := h.self.place(chosen, "")
	h.base.Command(p.Trigger, place.String(), runTimeout, nil, func(ctx context.Context) error {
		inTime, cancel := context.WithTimeout(ctx, h.times.modal)
		defer cancel()
		refused, err := h.openSettings(inTime, p, chosen, page)
		if inTime.Err() != nil || strings.HasSuffix(codeOf(err), "_trigger_id") {
			refused = textSlow
			err = nil
		}
		if refused != "" {
			h.tell(p.User.ID, page, place, refused)
		} else {
			h.publish(p.User.ID, page) // with a menu in which nothing is chosen
		}
		return err
	})
}

// openSettings opens the modal. refused is why it does not, for the person.
func (h *home) openSettings(ctx context.Context, p homePayload, chosen string, page homePage) (refused string, err error) {
	place := h.self.place(chosen, "")
	who, speaker, err := h.whoIs(ctx, p.User.ID, page.Direct)
	if err != nil {
		return textUnasked, err
	}
	if !channel.MayRun(h.base.Hub, place.String(), who, "settings") {
		return fmt.Sprintf("/%s is only for people who manage this place. Ask one of them.", "settings"), nil
	}
	err = h.mayRead(ctx, who.ID, place, "")
	switch {
	case !channel.Hears(h.base.Hub, place.String(), who.ID):
		return command.TextRefused, nil
	case errors.Is(err, errUnreadable):
		return textUnreadable, nil
	case err != nil:
		return textUnasked, err
	}
	all, err := channel.SettingsOf(ctx, h.base.Hub, place.String())
	switch {
	case err != nil:
		return "", err
	case len(all) == 0:
		return textNothing, nil
	}
	page.Place = chosen
	_, err = h.api.once.OpenViewContext(ctx, p.Trigger, settingsModal(speaker, page.homeMetadata, all))
	return "", err
}

// settingsModal renders the settings that people may change.
func settingsModal(speaker sentences.Speaker, at homeMetadata, all []channel.Setting) slackgo.ModalViewRequest {
	metadata, _ := json.Marshal(at) // it can always be encoded
	blocks := []slackgo.Block{paragraph(speaker.Translate("A field has the value that is set for this channel. An empty one follows the settings file."))}
	for _, s := range all {
		if !s.Settable {
			continue
		}
		input := slackgo.NewPlainTextInputBlockElement(nil, settingsInput).WithInitialValue(chat.OneLine(s.SetHere())).WithMaxLength(maxSetting)
		hint := plain(chat.Excerpt(s.Text(speaker), maxHint))
		blocks = append(blocks, slackgo.NewInputBlock(s.Key, plain(s.Key), hint, input).WithOptional(true))
	}
	return slackgo.ModalViewRequest{
		Type: slackgo.VTModal, CallbackID: settingsView, PrivateMetadata: string(metadata), Blocks: slackgo.Blocks{BlockSet: blocks},
		Title: plain(speaker.Translate("Settings")), Submit: plain(speaker.Translate("Save")), Close: plain(speaker.Translate("Cancel")),
	}
}

// onSubmit changes the settings of a channel as /settings does. The acknowledgement says which value is at fault; if the answer comes too late
// for it, the Home tab shows the answer.
func (h *home) onSubmit(p homePayload, chosen string, page homePage, acknowledge func(response any)) {
	var once sync.Once
	accept := func() { once.Do(func() { acknowledge(nil) }) }
	line, changed := changesIn(p)
	if chosen == "" || line == "" {
		accept()
		return
	}
	c := typed{place: h.self.place(chosen, ""), line: line, who: access.Person{ID: p.User.ID, Name: cmp.Or(p.User.Name, p.User.Username)}, home: true}
	inHome := h.showing(p.User.ID, page, c.place, line)
	show := func(ctx context.Context, a command.Answer) error {
		if !a.Refused && !a.Private {
			accept()
			return inHome(ctx, a)
		}
		text := a.Text
		if a.Language == untranslated {
			_, speaker, _ := h.whoIs(ctx, p.User.ID, page.Direct) // without an answer, it is English
			text = speaker.Translate(text)
		}
		shown := false
		once.Do(func() {
			shown = true
			acknowledge(slackgo.NewErrorsViewSubmissionResponse(map[string]string{p.inputFor(a.Setting, changed): text}))
		})
		if shown {
			return nil
		}
		return inHome(ctx, a)
	}
	late := time.AfterFunc(h.times.modal, accept)
	h.base.Command(p.Trigger, c.place.String(), runTimeout, nil, func(ctx context.Context) error {
		defer late.Stop()
		defer accept()
		return h.run(ctx, c, "", show)
	})
}

// inputFor returns the input of a submitted modal for a setting, or another one if there is none: Slack shows an error below an input only.
func (p homePayload) inputFor(setting, other string) string {
	if slices.ContainsFunc(p.View.Blocks, func(b inputBlock) bool { return b.ID == setting && b.Element.Action == settingsInput }) {
		return setting
	}
	return other
}

// changesIn returns the command that sets what was changed in a submitted modal, and the key of the first change; "" if there is none. What
// somebody else has set since the modal was opened stays.
func changesIn(p homePayload) (line, first string) {
	var all []string
	for _, input := range p.View.Blocks {
		entered, there := p.View.State.Values[input.ID][input.Element.Action]
		value := strings.TrimSpace(entered.Value)
		if input.Element.Action != settingsInput || !there || value == strings.TrimSpace(input.Element.Initial) {
			continue
		}
		first = cmp.Or(first, input.ID)
		all = append(all, command.Assignment(input.ID, value))
	}
	if len(all) == 0 {
		return "", ""
	}
	return "/settings " + strings.Join(all, "\n"), first
}
