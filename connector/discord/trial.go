// A trial of the connector in a real conversation, see platform.Trial: what it needs of Discord.

package discord

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// trialExpected is what Discord should do in the steps of a trial, by the pages of its documentation: Message, Channel, Components,
// Receiving and Responding.
var trialExpected = map[string]string{
	"post":    "Create Message takes a nonce with enforce_nonce and allowed_mentions without pings, and answers with the id",
	"find":    "Get Channel Messages has the message with its content, with or without the nonce",
	"again":   "the message is found in the history, and nothing is posted",
	"repeat":  "Create Message with the same nonce posts nothing, and answers with the first message",
	"working": "Trigger Typing Indicator is accepted",
	"edit":    "Create Message shows the beginning with a button, Edit Message the rest and takes the button away; the message counts as edited",
	"answer":  "Create Message takes a message_reference to the first message, Edit Message shows the rest",
	"stop":    "Delete Message removes an unfinished answer",
	"press":   "a message takes an action row with a button; INTERACTION_CREATE comes without an intent, its callback defers, and Edit Original Interaction Response answers one person",
	"upload":  "",

	"clean up": "Delete Message removes every message of the trial, and the history no longer has them",
}

// Trial prepares a trial in a conversation, "discord:CHANNEL", "discord:SERVER/CHANNEL" or "discord:SERVER/CHANNEL/THREAD". hub has a
// store of its own. The error says what a person has to do. The connector must not be used for anything else.
func (d *Discord) Trial(ctx context.Context, hub *channel.Hub, conversation string) (*platform.Trial, error) {
	calls := platform.Record(d.rest.client, func(r *http.Request) string { return callName(r.Method, r.URL.Path) })
	d.Hub = hub
	at, err := d.placeForTrial(ctx, conversation)
	if err != nil {
		return nil, cmp.Or(fatal(err), err)
	}
	d.Work.Open(ctx)
	name := at.conversation()
	started := idAt(d.Clock.Now().Add(-time.Minute))
	return &platform.Trial{
		Connector: d, Conversation: name, Calls: calls, Work: d.Work, Expected: trialExpected, Answer: "PATCH /webhooks/*/*/messages/@original",
		Own: func(ctx context.Context, _ string) (all []platform.Posted, err error) {
			return d.tried(ctx, at.ID, started)
		},
		Remove: func(ctx context.Context, _, id string) error {
			err := d.rest.do(ctx, call{method: http.MethodDelete, path: "/channels/" + at.ID + "/messages/" + id})
			if refusalIn(err).code == codeUnknownMessage {
				err = nil
			}
			return err
		},
		Below: func(context.Context, string) (string, error) { return name, nil },
		Pressed: func(ctx context.Context, turn string, post func() error) error {
			return d.awaitPress(ctx, at, turn, post)
		},
	}, nil
}

// callName names a request: ids, emoji and tokens are left out.
func callName(method, path string) string {
	_, path, _ = strings.Cut(strings.TrimPrefix(path, "/api/"), "/")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		secret := i == 2 && (parts[0] == "webhooks" || parts[0] == "interactions")
		if secret || number(part) > 0 {
			parts[i] = "*"
		}
	}
	return method + " /" + strings.Join(parts, "/")
}

// placeForTrial looks up a conversation and what the bot may do there.
func (d *Discord) placeForTrial(ctx context.Context, conversation string) (at place, err error) {
	asked := chat.ParsePlace(conversation)
	id := cmp.Or(asked.Thread, asked.Channel, asked.Server)
	if number(id) == 0 {
		return at, fmt.Errorf("%s names no channel: write discord:1234567890123456, with the id that Copy Channel ID gives (Settings → Advanced → Developer Mode)", conversation)
	}
	var me self
	err = d.rest.do(ctx, call{method: http.MethodGet, path: "/users/@me", into: &me.user})
	if err != nil {
		return at, err
	}
	d.state.bot.Store(&me)
	err = d.rest.do(ctx, call{method: http.MethodGet, path: "/channels/" + id, into: &at})
	switch status := refusalIn(err).status; {
	case status == http.StatusNotFound || status == http.StatusForbidden:
		return at, fmt.Errorf("the bot does not see this channel (HTTP %d): check its id, invite the bot to the server, and give it View Channel there", status)
	case err != nil:
		return at, err
	case asked.Channel != "" && asked.Server != cmp.Or(at.Guild, chat.DirectServer):
		return at, fmt.Errorf("%s: the channel is on another server", conversation)
	case !at.hasMessages():
		return at, fmt.Errorf("%s has no messages of its own: name a text channel or a thread", conversation)
	case at.Guild == "":
		return d.state.add(at), nil
	}
	g, err := d.rest.readServer(ctx, at.Guild, me.ID, false)
	if err != nil {
		return at, err
	}
	d.state.addGuild(g)
	at = d.state.add(at)
	can, known := d.state.granted(at)
	why := d.state.cannotWrite(at.ID, d.Clock.Now())
	if why == "" && known && can&toRead != toRead {
		why = "the bot lacks the permission Read Message History here: people who manage this channel can give it"
	}
	if why != "" {
		return at, errors.New(why)
	}
	return at, nil
}

// tried returns the bot's messages in a channel that are newer than an id, oldest first.
func (d *Discord) tried(ctx context.Context, channelID, started string) (all []platform.Posted, err error) {
	found, err := d.messages(ctx, channelID, started, "", maxPage, false)
	for _, m := range found {
		if m.Author == nil || m.Author.ID != d.state.self().ID {
			continue
		}
		note := "the history has its nonce"
		if m.nonce() == "" {
			note = "the history has no nonce"
		}
		all = append(all, platform.Posted{ID: m.ID, Text: m.text(), Marked: true, Edited: m.Edited != "", Buttons: len(m.Components) > 0, Note: note})
	}
	return all, err
}

// awaitPress starts a session without intents, in which it handles the press of one button alone.
func (d *Discord) awaitPress(ctx context.Context, at place, turn string, post func() error) error {
	found, err := d.rest.findGateway(ctx)
	if err != nil {
		return err
	}
	shards := max(1, cmp.Or(d.o.Shards, found.Shards))
	connection, end := context.WithCancel(ctx)
	defer end()
	commands := &commands{base: d.Base, rest: d.rest, state: d.state, queue: d.queue, poster: d.poster}
	pressed := false
	var failed error // to post
	s := &session{
		token: d.rest.token, gateway: found.URL, timeout: d.pauses.open,
		shard: &[2]int{int(number(at.Guild) >> 22 % uint64(shards)), shards}, // Discord, Gateway: Sharding
		await: func(string) {},
		ready: func() {
			failed = post()
			if failed != nil {
				end()
			}
		},
		handle: func(name string, data json.RawMessage) error {
			if name == "INTERACTION_CREATE" && bytes.Contains(data, []byte(turn)) {
				commands.onInteraction(read[interaction](data))
				pressed = true
				end()
			}
			return nil
		},
	}
	err = s.connect(connection)
	if pressed {
		return nil
	}
	return cmp.Or(failed, fatal(err), err)
}
