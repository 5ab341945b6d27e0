// One connection may serve 2500 servers: the owner is warned before, and told how to get more connections.

package discord

import (
	"fmt"
	"strings"
	"testing"

	"cairn/connector/platform"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

func TestManyServersAreWarnedOf(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.opts.Shards = 1
	for n := range manyServers - 2 { // and the rig's
		r.Guild(fmt.Sprint("town ", n))
	}
	r.start()
	r.converse(r.square, "there?", 1)
	check.Lacks(t, "the log", r.Log.String(), "many_servers")
	facts := strings.Join(check.Must(r.newConnector().Check(t.Context()))(t), "\n")
	check.Contains(t, "what doctor shows", facts, "servers with the bot: 1999", "were checked in 20 of them, and not in 1979 more") // more than a page of the list has
	check.Lacks(t, "what doctor shows", facts, "warning")

	r.Guild("joined")
	r.Guild("joined too")
	r.until("a warning", func() bool { return strings.Contains(r.Log.String(), "many_servers") })
	r.converse(r.square, "still there?", 2)
	check.Equal(t, "warnings", strings.Count(r.Log.String(), "many_servers"), 1)
	check.Contains(t, "the log", r.Log.String(), "servers=2000 most=2500", "a connection of the bot has 2000 servers", "set shards = 0 under [discord], for as many as Discord recommends, or at least 2")
	facts = strings.Join(check.Must(r.newConnector().Check(t.Context()))(t), "\n")
	check.Contains(t, "what doctor shows", facts, "connections (shards): 1, Discord recommends 3; about 2001 servers on each", "warning: a connection of the bot has 2001 servers, and Discord lets one connection serve at most 2500", "set shards = 0")

	r.restart()
	check.Equal(t, "warnings of two sessions", strings.Count(r.Log.String(), "many_servers"), 2)
}

func TestTooManyServersEndRun(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.opts.Shards = 1
	for n := range maxServers {
		r.Guild(fmt.Sprint("town ", n))
	}
	err := r.newConnector().Run(r.ctx, nil)
	check.Error(t, err, platform.SetupError(fatalMessages[4011]))
	check.ErrorContains(t, "the error", err, "at most 2500 servers", "Set shards = 0 under [discord]", "set a higher number")
	check.Equal(t, "connections", len(r.Connections()), 1)
}
