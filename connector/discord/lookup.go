// Servers that no event has described: in a session that another process has started, Discord does not describe them again, so they are
// read over REST, each when an event of it arrives, and all of them in the background.

package discord

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"cairn/connector/platform"
)

// lookup reads servers into the state cache. It is safe for concurrent use.
type lookup struct {
	rest    *rest
	state   *stateCache
	page    int // servers that Discord lists at once
	reading singleflight.Group

	mu      sync.Mutex      // guards changed
	changed map[string]bool // of the servers that are being read: an event has changed it since
}

// know reads a server, unless it is known. If Discord does not answer, the server stays unknown, unless that is in the background.
func (k *lookup) know(ctx context.Context, id string, background bool) {
	if id == "" || k.state.guild(id).ID != "" {
		return
	}
	_, _, _ = k.reading.Do(id, func() (any, error) {
		platform.Retry(ctx, platform.Backoff{First: time.Second, Max: time.Minute}, func() (done bool) {
			k.mu.Lock()
			k.changed[id] = false
			k.mu.Unlock()
			g, err := k.rest.readServer(ctx, id, k.state.self().ID, background)
			return k.add(g, id, err == nil) || hadNoEffect(err) || err != nil && !background // who waits goes on without it
		})
		return nil, nil
	})
}

// add adds what was read of a server, unless an event has changed the server in the meantime.
func (k *lookup) add(g guild, id string, found bool) (added bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	added = found && !k.changed[id]
	delete(k.changed, id)
	if added {
		k.state.addGuild(g)
	}
	return added
}

// note notes that an event is about to change a server.
func (k *lookup) note(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, reads := k.changed[id]; reads {
		k.changed[id] = true
	}
}

const serverRequests = 3 // of readServer

// readServer reads a server with its channels, and what the bot is there. It has no threads.
func (r *rest) readServer(ctx context.Context, id, bot string, background bool) (g guild, err error) {
	get := func(path string, into any) {
		if err == nil {
			err = r.do(ctx, call{method: http.MethodGet, path: "/guilds/" + id + path, into: into, background: background})
		}
	}
	var channels []place
	var me member
	get("", &g)
	get("/channels", &channels)
	get("/members/"+bot, &me)
	g.Channels = channels
	g.Members = []member{me}
	g.Joined = me.Joined
	return g, err
}

const serversPage = 200 // the most that Discord lists (Discord, User: Get Current User Guilds)

// readServers reads all servers of the shard.
func (e *events) readServers(ctx context.Context) {
	after := "0"
	for {
		var page []struct{ ID string }
		c := call{method: http.MethodGet, path: fmt.Sprintf("/users/@me/guilds?limit=%d&after=%s", e.lookup.page, after), into: &page, background: true}
		platform.Retry(ctx, platform.Backoff{First: time.Second, Max: time.Minute}, func() (done bool) { return e.rest.do(ctx, c) == nil })
		for _, one := range page {
			if ctx.Err() != nil {
				return
			}
			if e.link.Covers(place{ID: "0", Guild: one.ID}.conversation()) {
				e.servers.add(one.ID)
				e.lookup.know(ctx, one.ID, true)
			}
			after = one.ID
		}
		if len(page) < e.lookup.page {
			return
		}
	}
}
