package main

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

// How many shards are connected, only the running bot knows.
func TestDoctorShowsShards(t *testing.T) {
	p := platformsOf(t, discordtest.Options{Shards: 3, IdentifyLimit: 5})
	free := check.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := free.Addr().String()
	check.NoError(t, free.Close())
	f := p.folder(fmt.Sprintf("health = %q\n", address), modelAt(modelServer(t, saying("yes")))...)
	out := f.run("", "doctor").out
	check.Contains(t, "doctor before the bot runs", out, "connections (shards): 3, Discord recommends 3; about 0 servers on each", "new sessions that Discord still accepts: 5 of 5; all again from ")
	r := f.start("run")
	p.telling(r)
	p.until(r, "a shard", func() bool {
		_, said := get(t, "http://"+address+"/readyz")
		return strings.Contains(said, `{"part":"discord shards","ok":true,"why":"1 of 3 shards connected, `)
	})
	_, said := get(t, "http://"+address+"/metrics")
	check.Contains(t, "metrics", said, `cairn_discord_shard_connected{shard="0"} 1`, `cairn_discord_shard_connected{shard="2"} 0`,
		`cairn_discord_shard_servers{shard="2"}`, "cairn_discord_session_starts_left 4", `cairn_connector_connected{connector="discord"} 0`)
	out = f.run("", "doctor").out
	check.Contains(t, "doctor while the bot runs", out, "ok     bot       discord shards: ", " of 3 shards connected") // more may be connected by now
	r.stop()
}
