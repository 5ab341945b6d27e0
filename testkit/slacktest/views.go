// Views: the Home tab of the app, and modals (surfaces/app-home, surfaces/modals).

package slacktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"cairn/testkit/loopback"
)

// triggerTime is how long a trigger_id is valid (interactivity/handling-user-interaction#modal_responses).
const triggerTime = 3 * time.Second

// trigger is whose action a trigger_id is from, and until when it is valid.
type trigger struct {
	person string
	until  time.Time
	used   bool
}

// View is the state of a Home tab, or of the modal that a person has open.
type View struct {
	viewFields
	ID, Hash string
	Errors   map[string]string // that the modal shows, by block_id

	raw json.RawMessage // its blocks
}

// Text returns what people read in the view, a line for each text of a block.
func (v View) Text() string {
	var lines []string
	for _, b := range v.Blocks.BlockSet {
		lines = append(lines, textsOf(b)...)
	}
	return strings.Join(lines, "\n")
}

// views are those of a workspace.
type views struct {
	homes    map[string]*View // by person
	modals   map[string]*View // by person: one at a time
	triggers map[string]*trigger
}

func (s *Server) triggerLocked(person string) string {
	id := s.idLocked("trigger.")
	s.triggers[id] = &trigger{person: person, until: time.Now().Add(s.opt.TriggerTime)}
	return id
}

// publishView replaces the Home tab of a person (reference/methods/views.publish).
func (s *Server) publishView(a args) answer {
	a.need("user_id")
	a.need("view")
	refuseIf(s.users[a["user_id"]] == nil, "user_not_found") // judgement: no document names the error
	refuseIf(s.opt.NoHomeTab, "not_enabled")
	v := s.viewLocked(a["view"], "home")
	before := s.homes[a["user_id"]]
	refuseIf(a["hash"] != "" && (before == nil || before.Hash != a["hash"]), "hash_conflict")
	if before != nil {
		v.ID = before.ID
	}
	s.homes[a["user_id"]] = v
	return answer{"view": s.viewObject(*v, nil)}
}

// openView opens a modal for the person whose action had the trigger_id (reference/methods/views.open).
func (s *Server) openView(a args) answer {
	a.need("trigger_id")
	a.need("view")
	t := s.triggers[a["trigger_id"]]
	refuseIf(t == nil, "invalid_trigger_id")
	refuseIf(time.Now().After(t.until), "expired_trigger_id")
	refuseIf(t.used, "exchanged_trigger_id")
	v := s.viewLocked(a["view"], "modal")
	t.used = true
	s.modals[t.person] = v
	return answer{"view": s.viewObject(*v, nil)}
}

// viewLocked returns a new view, or refuses it.
func (s *Server) viewLocked(raw, kind string) *View {
	v := &View{viewFields: checkView(raw, kind), ID: s.idLocked("V"), Hash: s.tsLocked()}
	var fields struct{ Blocks json.RawMessage }
	_ = json.Unmarshal([]byte(raw), &fields) // it was checked
	v.raw = fields.Blocks
	return v
}

// viewObject returns a view as in payloads (reference/interaction-payloads/view-interactions-payload), with what is entered in it.
func (s *Server) viewObject(v View, values map[string]map[string]any) map[string]any {
	return map[string]any{
		"id": v.ID, "team_id": TeamID, "type": v.Type, "blocks": v.raw, "private_metadata": v.PrivateMetadata, "callback_id": v.CallbackID,
		"state": map[string]any{"values": values}, "hash": v.Hash, "title": v.Title, "submit": v.Submit, "close": v.Close, "clear_on_close": false,
		"notify_on_close": false, "root_view_id": v.ID, "previous_view_id": nil, "app_id": AppID, "external_id": "",
		"app_installed_team_id": TeamID, "bot_id": BotID,
	}
}

// Home returns the Home tab that a person sees; ok is false if none was published.
func (s *Server) Home(person string) (v View, ok bool) { return s.view(s.homes, person) }

// Modal returns the modal that a person has open; ok is false if there is none.
func (s *Server) Modal(person string) (v View, ok bool) { return s.view(s.modals, person) }

func (s *Server) view(of map[string]*View, person string) (v View, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := of[person]
	if found == nil {
		return v, false
	}
	v = *found
	v.Errors = maps.Clone(v.Errors)
	return v, true
}

// OpenHome makes a person open the Home tab (reference/events/app_home_opened).
func (s *Server) OpenHome(person string) {
	s.do(func() {
		event := map[string]any{"type": "app_home_opened", "user": s.mustUserLocked(person).ID, "channel": s.dmLocked(person), "event_ts": s.tsLocked(), "tab": "home"}
		if v := s.homes[person]; v != nil {
			event["view"] = s.viewObject(*v, nil)
		}
		s.emitLocked(event)
	})
}

// PressView makes a person click a button of a Home tab, which may be an earlier one that their client still shows. It panics if the view has
// no such button.
func (s *Server) PressView(person string, v View, blockID, actionID string) {
	e, kind := v.element(blockID, actionID)
	button, ok := e.(*slack.ButtonBlockElement)
	if !ok {
		panic("slacktest: no button " + actionID + " in " + blockID)
	}
	s.actInView(person, v, map[string]any{"type": kind, "block_id": blockID, "action_id": actionID, "text": button.Text, "value": button.Value})
}

// ChooseInView makes a person choose a conversation, which they and the app must see, in a menu of conversations
// (reference/block-kit/block-elements/select-menu-element#conversations_select).
func (s *Server) ChooseInView(person string, v View, blockID, actionID, channelID string) {
	e, kind := v.element(blockID, actionID)
	menu, ok := e.(*slack.SelectBlockElement)
	if !ok || kind != slack.OptTypeConversations {
		panic("slacktest: no menu of conversations " + actionID + " in " + blockID)
	}
	s.do(func() {
		c := s.mustChannelLocked(channelID)
		named := map[string]string{"channel": "public", "group": "private", "mpim": "mpim", "im": "im"}[c.kind]
		if !c.has(person) && c.kind != "channel" || menu.Filter != nil && !slices.Contains(menu.Filter.Include, named) {
			panic("slacktest: the menu does not show " + channelID)
		}
	})
	s.actInView(person, v, map[string]any{"type": kind, "block_id": blockID, "action_id": actionID, "selected_conversation": channelID})
}

// actInView sends the payload of an action in a view: it has no channel, no message and no response_url
// (reference/interaction-payloads/block_actions-payload).
func (s *Server) actInView(person string, v View, action map[string]any) {
	s.do(func() {
		action["action_ts"] = s.tsLocked()
		payload := s.interactionLocked("block_actions", person)
		payload["container"] = map[string]any{"type": "view", "view_id": v.ID}
		payload["view"] = s.viewObject(v, nil)
		payload["actions"] = []any{action}
		s.deliverLocked(kindInteractive, "", loopback.Encode(payload))
	})
}

// SubmitModal makes a person submit the modal that they have open, with these texts in its inputs, by block_id. The other inputs are as they
// were shown. The modal closes when the app acknowledges that without errors (surfaces/modals#displaying_errors).
func (s *Server) SubmitModal(person string, texts map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.modals[person]
	if v == nil {
		panic("slacktest: no modal is open")
	}
	v.Errors = nil
	values := map[string]map[string]any{}
	inputs := map[string]bool{}
	for _, b := range v.Blocks.BlockSet {
		input, ok := b.(*slack.InputBlock)
		if !ok {
			continue
		}
		inputs[input.BlockID] = true
		field := input.Element.(*slack.PlainTextInputBlockElement)
		text, changed := texts[input.BlockID]
		if !changed {
			text = field.InitialValue
		}
		value := map[string]any{"type": "plain_text_input", "value": nil} // of an empty input
		if text != "" {
			value["value"] = text
		}
		values[input.BlockID] = map[string]any{field.ActionID: value}
	}
	payload := s.interactionLocked("view_submission", person)
	payload["view"] = s.viewObject(*v, values)
	payload["response_urls"] = []any{}
	s.deliverLocked(kindInteractive, "", loopback.Encode(payload), func(response json.RawMessage) { s.submittedLocked(person, inputs, response) })
}

// submittedLocked takes the acknowledgement of a submission.
func (s *Server) submittedLocked(person string, inputs map[string]bool, response json.RawMessage) {
	var said struct {
		Action string            `json:"response_action"`
		Errors map[string]string `json:"errors"`
	}
	v := s.modals[person]
	switch {
	case v == nil:
	case len(response) == 0 || string(response) == "null" || string(response) == "{}":
		delete(s.modals, person)
	case json.Unmarshal(response, &said) != nil || said.Action != "errors" || len(said.Errors) == 0:
		s.complainLocked("a submission was acknowledged with %s", response) // the other actions are not supported
	default:
		v.Errors = said.Errors
		for id, text := range said.Errors {
			if !inputs[id] || text == "" {
				s.complainLocked("an error for %q, which is no input block, or without a text", id)
			}
		}
	}
}

// interactionLocked returns what the payloads of all interactions have.
func (s *Server) interactionLocked(kind, person string) map[string]any {
	u := s.mustUserLocked(person)
	return map[string]any{
		"type": kind, "token": "verification", "api_app_id": AppID, "trigger_id": s.triggerLocked(u.ID), "is_enterprise_install": false, "enterprise": nil,
		"user": map[string]string{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": TeamID},
		"team": map[string]string{"id": TeamID, "domain": "slacktest"},
	}
}

// element returns an interactive element of a view, and its type.
func (v View) element(blockID, actionID string) (slack.BlockElement, string) {
	for _, b := range v.Blocks.BlockSet {
		if b.ID() != blockID {
			continue
		}
		for _, e := range elementsOf(b) {
			if id, _ := identityOf(e); id == actionID {
				return e, string(e.ElementType())
			}
		}
	}
	panic(fmt.Sprintf("slacktest: no element %s in the block %s of %s", actionID, blockID, v.Text()))
}
