// Who may read a channel or a thread. A search through all conversations asks this before it looks into one.

package discord

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/chat"
)

// maxLookups is how many requests about channels and threads one question makes, besides one for each server.
const maxLookups = 20

// Readable implements channel.Reader. Discord is asked for the member's roles each time: without a privileged intent, no event says
// that they have changed. Events keep the permissions of channels up to date.
func (d *Discord) Readable(ctx context.Context, person string, conversations []string) (readable []string, err error) {
	r := reader{
		rest: d.rest, state: d.state, elsewhere: d.shards.isElsewhere, person: person, members: make(map[string]*member), servers: make(map[string]*stateCache), left: maxLookups,
	}
	for _, conversation := range conversations {
		may, failure := r.mayRead(ctx, chat.ParsePlace(conversation))
		err = errors.Join(err, failure)
		if may && failure == nil {
			readable = append(readable, conversation)
		}
	}
	return readable, err
}

// MessageLink implements channel.Linker.
func (d *Discord) MessageLink(conversation, id string) string {
	at := chat.ParsePlace(conversation)
	if _, err := strconv.ParseUint(id, 10, 64); err != nil {
		return ""
	}
	return "https://discord.com/channels/" + at.Server + "/" + cmp.Or(at.Thread, at.Channel) + "/" + id
}

// messageAddress matches the address of a message, in any of Discord's clients.
var messageAddress = regexp.MustCompile(`^https://(?:www\.|ptb\.|canary\.)?discord(?:app)?\.com/channels/(\d+|@me)/(\d+)/(\d+)/?$`)

// MessageAt implements channel.Resolver. A thread that no event has described lately is taken for a channel, which is not known.
func (d *Discord) MessageAt(link string) (place, id string) {
	m := messageAddress.FindStringSubmatch(strings.TrimRight(link, ".,;:!?'"))
	if m == nil {
		return "", ""
	}
	at := chat.Place{Connector: Name, Server: m[1], Channel: m[2]}
	if p := d.state.place(m[2]); p.ID != "" && p.Guild == m[1] {
		return p.conversation(), m[3]
	}
	return at.String(), m[3]
}

// Public implements channel.Resolver, by what events have said. What another process knows is not asked.
func (d *Discord) Public(_ context.Context, conversation string) bool {
	at := chat.ParsePlace(conversation)
	return d.state.audience(cmp.Or(at.Thread, at.Channel)) == channel.ServerWide
}

// reader finds out what one person may read.
type reader struct {
	rest      *rest
	state     *stateCache
	elsewhere func(conversation string) bool // whether another process receives its events
	person    string
	members   map[string]*member     // by server; nil: the person is none, or Discord did not answer
	servers   map[string]*stateCache // of other processes, read for this question
	left      int                    // requests about channels and threads, and for servers of other processes
}

// mayRead reports whether the person may read a place. What cannot be found out may not be read.
func (r *reader) mayRead(ctx context.Context, at chat.Place) (bool, error) {
	if at.Direct() {
		return false, nil
	}
	state, err := r.stateOf(ctx, at)
	if err != nil {
		return false, err
	}
	channel, err := r.place(ctx, state, at.Channel)
	if err != nil || channel.Guild != at.Server || channel.Parent != "" {
		return false, err
	}
	var thread place
	if at.Thread != "" {
		thread, err = r.place(ctx, state, at.Thread)
		if err != nil || thread.Parent != channel.ID {
			return false, err
		}
	}
	m, err := r.member(ctx, at.Server)
	if err != nil || m == nil {
		return false, err
	}
	can, known := state.permissions(channel, r.person, m.Roles)
	switch {
	case !known || can&toRead != toRead:
		return false, nil
	case thread.Type == discordgo.ChannelTypeGuildPrivateThread && can&discordgo.PermissionManageThreads == 0:
		return r.look(ctx, "/channels/"+thread.ID+"/thread-members/"+r.person, nil)
	}
	return true, nil
}

// stateOf returns what is known of the server of a place. If another process receives its events, Discord is asked, each time.
func (r *reader) stateOf(ctx context.Context, at chat.Place) (*stateCache, error) {
	if r.elsewhere == nil || !r.elsewhere(at.String()) {
		return r.state, nil
	}
	found := r.servers[at.Server]
	if found != nil || r.left < serverRequests {
		return cmp.Or(found, &stateCache{}), nil
	}
	r.left -= serverRequests
	found = &stateCache{}
	r.servers[at.Server] = found // a failure counts for all its channels
	g, err := r.rest.readServer(ctx, at.Server, r.state.self().ID, false)
	switch {
	case hadNoEffect(err): // the bot is not in the server
		return found, nil
	case err != nil:
		return found, err
	}
	found.addGuild(g)
	return found, nil
}

// place returns a channel or a thread; the zero value if it is gone. Events do not describe archived threads.
func (r *reader) place(ctx context.Context, state *stateCache, id string) (place, error) {
	p := state.place(id)
	if p.ID != "" {
		return p, nil
	}
	_, err := r.look(ctx, "/channels/"+id, &p)
	return p.withoutCategory(), err
}

// member returns the person as a member of a server; nil: they are none.
func (r *reader) member(ctx context.Context, server string) (*member, error) {
	m, asked := r.members[server]
	if asked {
		return m, nil
	}
	m = &member{}
	err := r.rest.do(ctx, call{method: http.MethodGet, path: "/guilds/" + server + "/members/" + r.person, into: m})
	if err != nil {
		m = nil
	}
	r.members[server] = m // a failure counts for all its channels
	if hadNoEffect(err) { // Discord says that the person, or the bot, is not in the server
		err = nil
	}
	return m, err
}

// look requests something about a channel or a thread, and reports whether it is there.
func (r *reader) look(ctx context.Context, path string, into any) (bool, error) {
	if r.left == 0 {
		return false, nil
	}
	r.left--
	err := r.rest.do(ctx, call{method: http.MethodGet, path: path, into: into})
	if hadNoEffect(err) {
		return false, nil
	}
	return err == nil, err
}
