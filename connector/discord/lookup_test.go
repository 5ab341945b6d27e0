package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

// otherProcess returns a connector that has resumed the session of the rig's, as another process does, and its events.
func (r *rig) otherProcess() (*Discord, *events) {
	r.T.Helper()
	d := r.newConnector()
	d.Hub = r.Hub
	d.Work.Open(r.ctx)
	r.T.Cleanup(d.Work.Close)
	d.state.bot.Store(r.connector.state.bot.Load())
	d.shards.count.Store(1)
	e := d.shards.add(channel.Shard{Count: 1}).events
	e.adopt(true)
	return d, e
}

// A session of another process describes no server: what is read of them is the same as what events say.
func TestServersOfAResumedSessionAreRead(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	helper := r.Role(r.guild.ID, "helper", 0)
	r.Permit(r.guild.ID, r.Bot.ID, "", 0, helper.ID)
	r.Deny(r.Channel(r.guild.ID, "hidden").ID, discordgo.PermissionViewChannel)
	r.Deny(r.Channel(r.guild.ID, "silent").ID, discordgo.PermissionSendMessages)
	for n := range 4 {
		r.Guild(fmt.Sprint("town ", n))
	}
	r.start()
	r.converse(r.square, "hello", 1)
	told := r.connector.state
	r.until("all servers", func() bool { return r.connector.Status().Shards[0].Servers == 5 })
	_, e := r.otherProcess()
	e.lookup.page = 2
	e.readServers(r.ctx)
	told.guilds.Range(func(id, known any) bool {
		read := e.state.guild(id.(string))
		check.That(t, read.Joined != "", "it is not known since when the bot is in a server")
		read.Joined = known.(guild).Joined // the double tells it over REST alone
		check.Equal(t, "a server", fmt.Sprintf("%+v", read), fmt.Sprintf("%+v", known))
		return true
	})
	told.places.Range(func(id, known any) bool {
		read := e.state.place(id.(string))
		read.Last = known.(place).Last // it is of another moment
		check.Equal(t, "a place", fmt.Sprintf("%+v", read), fmt.Sprintf("%+v", known))
		return true
	})
	check.Equal(t, "servers", int(e.servers.count.Load()), 5)
}

// What an event says while a server is read is newer.
func TestServerThatChangesWhileItIsRead(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	_, e := r.otherProcess()
	r.Fail(discordtest.Fault{Of: "GET /guilds/*/channels", Delay: time.Second})
	known := make(chan struct{})
	go func() {
		e.lookup.know(r.ctx, r.guild.ID, false)
		close(known)
	}()
	r.until("the first reading", func() bool { return r.count("GET /guilds/*/channels") == 1 })
	check.NoError(t, e.handle("GUILD_UPDATE", []byte(`{"id":"`+r.guild.ID+`","name":"renamed"}`)))
	<-known
	check.Equal(t, "readings of the server", r.count("GET /guilds/*/channels"), 2)
	check.Equal(t, "the server is known", e.state.guild(r.guild.ID).ID, r.guild.ID)
}

// Commands among the events that another process may have handled already are not run, as commands in a history are not. Messages are
// stored once, whoever has stored them.
func TestReplayedCommandIsNotRun(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	_, e := r.otherProcess()
	said := 0
	say := func(text string) {
		said++
		m := map[string]any{
			"id": idAt(time.Now().Add(time.Duration(said) * time.Millisecond)), "channel_id": r.square, "guild_id": r.guild.ID, "content": "<@" + r.Bot.ID + "> " + text,
			"author": map[string]any{"id": r.ann.ID, "username": "ann"},
		}
		check.NoError(t, e.handle("MESSAGE_CREATE", check.Must(json.Marshal(m))(t)))
	}
	settled := func() {
		ctx, cancel := context.WithTimeout(r.ctx, patience)
		defer cancel()
		e.queue.Settle(ctx, "")
	}
	say("/context")
	pressed := map[string]any{
		"id": idAt(time.Now()), "token": "token", "type": 2, "channel_id": r.square, "guild_id": r.guild.ID,
		"data": map[string]any{"name": "context"}, "member": map[string]any{"user": map[string]any{"id": r.ann.ID, "username": "ann"}},
	}
	check.NoError(t, e.handle("INTERACTION_CREATE", check.Must(json.Marshal(pressed))(t)))
	say("hello")
	settled()
	r.answersLast(r.square, 1, "echo: hello")
	check.Lacks(t, "the log", r.Log.String(), "command_failed") // Discord does not know the token, so an answer would fail
	e.adopt(false)
	say("/context")
	settled()
	r.until("the answer to a command", func() bool { return len(r.contents(r.square)) == 2 })
	check.Lacks(t, "the answer", strings.Join(r.contents(r.square)[1:], ""), "echo")
	place := e.state.place(r.square)
	check.That(t, place.Guild == r.guild.ID && e.state.audience(r.square) != "", "the server of the message is not known: %+v", place)
}
