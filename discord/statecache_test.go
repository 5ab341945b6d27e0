// Where things are, told by events that leave something out.

package discord

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/discord/discordtest"
)

func TestAChannelWhoseServerIsNotToldIsNoDirectMessage(t *testing.T) {
	t.Parallel()
	d := bot(t)
	for _, e := range []struct{ name, data string }{
		{"CHANNEL_UPDATE", `{"id":"20","type":0,"name":"general"}`},
		{"THREAD_CREATE", `{"id":"30","type":11,"name":"plans","parent_id":"20"}`},
		{"THREAD_CREATE", `{"id":"31","type":11,"name":"plans","parent_id":"21"}`}, // of which nothing is known
	} {
		d.updateState(e.name, json.RawMessage(e.data))
	}
	for id, want := range map[string]string{"20": "discord:9/20", "30": "discord:9/20/30", "31": "discord:9/21/31"} {
		if got := d.locate(t.Context(), id, "9").conversation(id); got != want {
			t.Errorf("%s is called %s, want %s", id, got, want)
		}
	}
}

func TestAGapIsReadWhereTheNewestMessageIsNotTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.ask(r.square, "before")
	r.answers(r.square, 1)
	r.Drop(1)
	r.ask(r.square, "missed")
	r.Dispatch("READY", map[string]any{"user": map[string]any{"id": r.Bot.ID, "username": "bot"}, "session_id": "x"})
	r.Dispatch("GUILD_CREATE", map[string]any{
		"id": r.guild.ID, "roles": []any{}, "channels": []any{map[string]any{"id": r.square, "type": 0, "name": "square"}},
	})
	if got := r.answers(r.square, 2); got[1] != "echo: missed" {
		t.Errorf("it answered %q", got)
	}
}

func TestWhatWasSaidBeforeTheBotJoinedWasNotMissed(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	r.rules.Respond = func(string) channel.Respond { return channel.RespondAll }
	r.start()
	r.ask(r.square, "hello")
	r.answers(r.square, 1)
	r.Drop(3)
	village := r.Guild("village", r.ann)
	well := r.Channel(village.ID, "well").ID
	m := r.Say(well, r.ann.ID, "long before")
	r.Dispatch("READY", map[string]any{"user": map[string]any{"id": r.Bot.ID, "username": "bot"}, "session_id": "x"}) // the bot was here before
	r.Dispatch("GUILD_CREATE", map[string]any{
		"id": village.ID, "joined_at": time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano), "roles": []any{},
		"channels": []any{map[string]any{"id": well, "type": 0, "name": "well", "last_message_id": m.ID}},
	})
	r.ask(well, "welcome")
	r.until("an answer", func() bool { return len(r.sent(well)) > 0 })
	if got := r.sent(well); got[0].Content != "echo: welcome" {
		t.Errorf("it answered %q", got[0].Content)
	}
	for _, q := range r.Requests(fmt.Sprintf("GET /channels/%s/messages", well)) {
		if strings.Contains(q.Query, "after=") {
			t.Errorf("it looked for what it missed: %s", q.Query)
		}
	}
}
