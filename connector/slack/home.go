// The Home tab of the app: what the bot keeps about a person, which they alone see. Its view is stored at Slack until another one is
// published, so it is made anew whenever they open the tab or press something, and without texts when they have something deleted.

package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/chat"
	"cairn/connector/platform"
	"cairn/internal/observe"
)

// home publishes the Home tabs of people. It is safe for concurrent use.
type home struct {
	base     *platform.Base
	api      *api
	self     *self
	times    *times
	commands *commands

	off     atomic.Bool                   // the app has no Home tab
	failing observe.Incident              // a Home tab could not be published
	looks   platform.KeyedQueue[struct{}] // for tabs that show what was deleted

	mu  sync.Mutex           // guards due
	due map[string]*homePage // what is to be published, by the person whose view is being published; nil: nothing more
}

// homePage is what the Home tab of a person shows.
type homePage struct {
	homeMetadata
	blank    bool    // nothing of what is kept
	outdated bool    // nobody asked for it: the tab shows what was deleted
	notice   *notice // what a press has come to; nil: nothing was pressed
	hash     string  // of the view that it replaces; "": of any
}

// homeMetadata is what Slack keeps for the bot with a view.
type homeMetadata struct {
	Direct string `json:"direct,omitempty"` // the direct message of the person and the bot; "": it is not known
	Page   int    `json:"page,omitempty"`   // of the memories
	Place  string `json:"place,omitempty"`  // of a modal: the channel whose settings it shows
}

// notice is the answer to a press, in a place.
type notice struct {
	answer   command.Answer
	place    chat.Place
	memories []int64 // that the command was about: the answer may quote them
}

// onOpened handles the event that a person has opened a tab of the app (reference/events/app_home_opened).
func (h *home) onOpened(payload json.RawMessage) {
	var outer struct {
		Event struct {
			Tab, User, Channel string
			View               struct{ Hash string }
		}
	}
	e := &outer.Event
	if platform.Decode(payload, &outer) != nil || e.Tab != "home" || e.User == "" {
		return
	}
	h.off.Store(false)
	h.publish(e.User, homePage{homeMetadata: homeMetadata{Direct: e.Channel}, hash: e.View.Hash})
}

// clearing returns what shows the answer to a command, and empties the Home tab after one that may have deleted something that it shows.
// Tabs of others may show that, too.
func (h *home) clearing(c typed, show platform.Show) platform.Show {
	return func(ctx context.Context, a command.Answer) error {
		if deletes(c.line) && !a.Refused && !h.off.Load() {
			page := homePage{blank: true}
			if c.place.Direct() {
				page.Direct = c.place.Channel
			}
			h.publish(c.who.ID, page)
			h.emptyOutdated()
		}
		return show(ctx, a)
	}
}

// homePayload is what Slack reports of an action in a view, or of a modal that was submitted.
type homePayload struct {
	Type    string
	User    struct{ ID, Name, Username string }
	Trigger string `json:"trigger_id"`
	View    struct {
		Type, Hash string
		Metadata   string       `json:"private_metadata"`
		Blocks     []inputBlock // of a modal
		State      struct {
			Values map[string]map[string]struct{ Value string } // by block and action
		}
	}
	Actions []struct {
		ID     string `json:"action_id"`
		Value  string
		Chosen string `json:"selected_conversation"`
	}
}

// take handles an action in a view; false: it is none. It acknowledges immediately what needs no check, and a submitted modal within the
// time that Slack waits.
func (h *home) take(payload json.RawMessage, acknowledge func(response any)) bool {
	var p homePayload
	if platform.Decode(payload, &p) != nil || p.View.Type == "" {
		return false
	}
	var at homeMetadata
	_ = json.Unmarshal([]byte(p.View.Metadata), &at) // that of another version of the bot stays empty
	page := homePage{homeMetadata: at, hash: p.View.Hash}
	page.Place = ""
	if p.Type == "view_submission" {
		page.hash = "" // that of the modal
		h.onSubmit(p, at.Place, page, acknowledge)
		return true
	}
	acknowledge(nil)
	if p.Type == "block_actions" && p.View.Type == "home" && len(p.Actions) > 0 {
		h.onAction(p, page)
	}
	return true
}

// onAction handles an action in the Home tab.
func (h *home) onAction(p homePayload, page homePage) {
	action := p.Actions[0]
	var value homeValue
	known := strings.HasPrefix(action.ID, homePrefix) && json.Unmarshal([]byte(action.Value), &value) == nil
	place := h.self.place(value.Channel, value.Thread)
	switch {
	case action.ID == homePlace:
		h.onPlace(p, action.Chosen, page)
	case known && value.Line == "":
		page.Page = value.Page
		h.publish(p.User.ID, page)
	case !known || !platform.KnowsButton(value.Line) || place.Channel == "":
		h.tell(p.User.ID, page, place, command.TextNoButton)
	default:
		c := typed{place: place, line: value.Line, who: access.Person{ID: p.User.ID, Name: cmp.Or(p.User.Name, p.User.Username)}, home: true}
		show := h.showing(p.User.ID, page, place, c.line)
		h.base.Command(p.Trigger, place.String(), runTimeout, nil, func(ctx context.Context) error {
			return h.run(ctx, c, page.Direct, show)
		})
	}
}

// showing returns what shows the answer to a command in the Home tab.
func (h *home) showing(person string, page homePage, place chat.Place, line string) platform.Show {
	called, args, _ := command.Parse(line)
	return func(_ context.Context, a command.Answer) error {
		page.blank = page.blank || a.Forgets || called.Name == "optout" && !a.Refused
		page.notice = &notice{a, place, memoriesIn(called, args)}
		h.publish(person, page)
		if deletes(line) && !a.Refused {
			h.emptyOutdated()
		}
		return nil
	}
}

// deletes reports whether a command may delete what Home tabs show.
func deletes(line string) bool {
	called, _, _ := command.Parse(line)
	return called.Name == "forget" || called.Name == "optout"
}

// memoriesIn returns the numbers of the memories that a command is about.
func memoriesIn(called command.Command, args string) (ids []int64) {
	if called.Name != "forget" && called.Name != "memories" {
		return nil
	}
	for _, arg := range strings.Fields(args) {
		if id, err := strconv.ParseInt(arg, 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// tell shows a sentence in the Home tab.
func (h *home) tell(person string, page homePage, place chat.Place, sentence string) {
	page.notice = &notice{command.Answer{Text: sentence, Language: untranslated}, place, nil}
	h.publish(person, page)
}

// errUnreadable is why nothing is done for a person in a place that they may not read.
var errUnreadable = errors.New("the person may not read the place")

// run runs a command in a place that the person may read now: they may have left it since the view was published.
func (h *home) run(ctx context.Context, c typed, direct string, show platform.Show) error {
	err := h.mayRead(ctx, c.who.ID, c.place, direct)
	switch {
	case errors.Is(err, errUnreadable):
		return show(ctx, command.Answer{Text: textUnreadable, Refused: true, Private: true, Language: untranslated})
	case err != nil:
		return errors.Join(err, show(ctx, command.Answer{Text: textUnasked, Refused: true, Private: true, Language: untranslated}))
	}
	return h.commands.run(ctx, c, show)
}

// mayRead returns why a person may not read a place now; nil: they may.
func (h *home) mayRead(ctx context.Context, person string, place chat.Place, direct string) error {
	if place.Direct() && place.Channel == direct {
		return nil
	}
	readable, err := channel.MayRead(ctx, h.base.Hub, Name, person, []string{place.String()})
	switch {
	case len(readable) > 0:
		return nil
	case err == nil:
		return errUnreadable
	}
	return err
}
