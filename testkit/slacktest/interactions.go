// Slash commands and clicks, and the URLs for responding to them.

package slacktest

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"cairn/testkit/loopback"
)

// responseUses of a response_url, in 30 minutes (interactivity/handling-user-interaction#message_responses).
const responseUses = 5

type responseURL struct {
	channel, user string
	uses          int
	message       *Message // the last response; for a click first the message with the button
}

// Command makes a person type a slash command (interactivity/implementing-slash-commands). It returns the response_url.
func (s *Server) Command(channel, person, command, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChannelLocked(channel)
	u := s.mustUserLocked(person)
	url := s.responseURLLocked(c.id, u.ID, nil)
	s.deliverLocked(kindCommand, "", loopback.Encode(map[string]any{
		"token": "verification", "team_id": TeamID, "team_domain": "slacktest", "api_app_id": AppID,
		"channel_id": c.id, "channel_name": c.name, "user_id": u.ID, "user_name": u.Name,
		"command": command, "text": text, "response_url": url, "trigger_id": s.triggerLocked(u.ID), "is_enterprise_install": "false",
	}))
	return url
}

// Press makes a person click the button with this action_id on a message, which may be ephemeral
// (reference/interaction-payloads/block_actions-payload). It panics if there is none, and returns the response_url.
func (s *Server) Press(channel, ts, person, actionID string) string {
	return s.useElement(channel, ts, person, func(m *Message) slack.BlockAction { return m.button(actionID) })
}

// Choose makes a person choose the option of a menu below a message whose value contains of; see Press.
func (s *Server) Choose(channel, ts, person, of string) string {
	return s.useElement(channel, ts, person, func(m *Message) slack.BlockAction { return m.option(of) })
}

func (s *Server) useElement(channel, ts, person string, find func(m *Message) slack.BlockAction) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChannelLocked(channel)
	u := s.mustUserLocked(person)
	i := slices.IndexFunc(c.messages, func(m *Message) bool { return m.TS == ts && !m.Deleted })
	if i < 0 {
		panic("slacktest: no message " + ts)
	}
	m := c.messages[i]
	action := find(m)
	action.ActionTs = s.tsLocked()
	url := s.responseURLLocked(c.id, u.ID, m)
	s.deliverLocked(kindInteractive, "", loopback.Encode(map[string]any{
		"type": "block_actions", "token": "verification", "api_app_id": AppID,
		"user":      map[string]string{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": TeamID},
		"team":      map[string]string{"id": TeamID, "domain": "slacktest"},
		"channel":   map[string]string{"id": c.id, "name": c.name},
		"container": map[string]any{"type": "message", "message_ts": ts, "channel_id": c.id, "is_ephemeral": m.OnlyFor != ""},
		"message":   s.objectLocked(m, false), "trigger_id": s.triggerLocked(u.ID),
		"response_url": url, "actions": []slack.BlockAction{action},
	}))
	return url
}

// Menu makes a person choose an entry in the menu of a message, by its callback_id
// (reference/interaction-payloads/shortcuts-interaction-payload; interactivity/implementing-shortcuts#messages). It returns the response_url.
func (s *Server) Menu(channel, ts, person, entry string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChannelLocked(channel)
	u := s.mustUserLocked(person)
	i := slices.IndexFunc(c.messages, func(m *Message) bool { return m.TS == ts && !m.Deleted && m.OnlyFor == "" })
	if i < 0 {
		panic("slacktest: no message " + ts + " with a menu")
	}
	url := s.responseURLLocked(c.id, u.ID, nil)
	s.deliverLocked(kindInteractive, "", loopback.Encode(map[string]any{
		"type": "message_action", "token": "verification", "callback_id": entry, "action_ts": s.tsLocked(), "trigger_id": s.triggerLocked(u.ID),
		"response_url": url, "message_ts": ts, "message": s.objectLocked(c.messages[i], false),
		"user":    map[string]string{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": TeamID},
		"team":    map[string]string{"id": TeamID, "domain": "slacktest"},
		"channel": map[string]string{"id": c.id, "name": c.name},
	}))
	return url
}

func (m *Message) button(actionID string) slack.BlockAction {
	for _, in := range m.actions() {
		for _, e := range in.Elements.ElementSet {
			if e, ok := e.(*slack.ButtonBlockElement); ok && e.ActionID == actionID {
				return slack.BlockAction{ActionID: actionID, BlockID: in.BlockID, Type: slack.ActionType(e.Type), Text: *e.Text, Value: e.Value}
			}
		}
	}
	panic("slacktest: no button " + actionID)
}

// option chooses in a menu (reference/interaction-payloads/block_actions-payload).
func (m *Message) option(of string) slack.BlockAction {
	for _, in := range m.actions() {
		for _, e := range in.Elements.ElementSet {
			menu, ok := e.(*slack.SelectBlockElement)
			if !ok {
				continue
			}
			for _, o := range menu.Options {
				if strings.Contains(o.Value, of) {
					return slack.BlockAction{ActionID: menu.ActionID, BlockID: in.BlockID, Type: slack.ActionType(menu.Type), SelectedOption: *o}
				}
			}
		}
	}
	panic("slacktest: no option of " + of)
}

func (m *Message) actions() (all []*slack.ActionBlock) {
	var blocks slack.Blocks
	_ = json.Unmarshal(m.Blocks, &blocks) // validated when they were posted
	for _, b := range blocks.BlockSet {
		if actions, ok := b.(*slack.ActionBlock); ok {
			all = append(all, actions)
		}
	}
	return all
}

func (s *Server) responseURLLocked(channel, person string, m *Message) string {
	key := s.idLocked("R")
	s.replies[key] = &responseURL{channel: channel, user: person, message: m}
	return s.http.URL + "/respond/" + key
}

// serveResponseURL requires no token. (Judgement: the error code and its status 404; no document gives them.)
func (s *Server) serveResponseURL(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.serve(w, r, "response_url", args{"body": string(body)}, func() reply {
		s.mu.Lock()
		defer s.mu.Unlock()
		u := s.replies[r.PathValue("reply")]
		if u == nil || u.uses >= responseUses {
			panic(refusal(http.StatusNotFound, "used_url", nil))
		}
		u.uses++
		s.respondLocked(u, body)
		return jsonReply(answer{"ok": true})
	})
}

// respondLocked adds a message, or replaces the clicked one or the last response. Deletions are not supported.
func (s *Server) respondLocked(u *responseURL, body []byte) {
	var fields struct {
		Text            string          `json:"text"`
		Blocks          json.RawMessage `json:"blocks"`
		ResponseType    string          `json:"response_type"`
		ThreadTS        string          `json:"thread_ts"`
		ReplaceOriginal bool            `json:"replace_original"`
	}
	refuseIf(json.Unmarshal(body, &fields) != nil, "invalid_payload")
	c := s.channels[u.channel]
	blocks := string(fields.Blocks)
	if blocks == "null" {
		blocks = ""
	}
	said := s.contentLocked(args{"text": fields.Text, "blocks": blocks})
	if fields.ReplaceOriginal && u.message != nil {
		u.message.Text = said.text
		u.message.Blocks = said.blocks
		u.message.Edits++
		return
	}
	m := s.ownMessageLocked(c, s.threadLocked(c, fields.ThreadTS), said)
	u.message = m
	if fields.ResponseType == "in_channel" {
		s.addMessageLocked(c, m)
		return
	}
	m.OnlyFor = u.user
	c.messages = append(c.messages, m)
}
