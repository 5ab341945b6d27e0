package discord

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"cairn/chat"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

func TestReadable(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	bob := r.User("bob")
	hidden := r.Channel(r.guild.ID, "hidden").ID
	r.Deny(hidden, discordgo.PermissionViewChannel)
	thread := r.Thread(r.square, r.ann.ID, "a thread").ID
	other := r.Guild("elsewhere", bob)
	far := r.Channel(other.ID, "far").ID
	r.start()
	all := []string{r.place(r.square), r.place(hidden), r.place(r.square) + "/" + thread, "discord:" + other.ID + "/" + far, "discord:@me/" + r.Direct(r.ann.ID).ID, "discord:" + r.guild.ID + "/1234"}
	r.until("the servers are known", func() bool { return r.connector.state.place(far).ID != "" && r.connector.state.place(hidden).ID != "" })
	readable := func(person string) []string { return check.Must(r.connector.Readable(r.ctx, person, all))(t) }
	check.EqualAll(t, "what ann, who owns the server, may read", readable(r.ann.ID), all[:3])
	check.EqualAll(t, "what bob, who is in another server, may read", readable(bob.ID), all[3:4])
	check.EqualAll(t, "what a stranger may read", readable("77"), nil)
	for range maxTries {
		r.Fail(discordtest.Fault{Of: "GET /guilds/*/members/*", Status: 500})
	}
	found, err := r.connector.Readable(r.ctx, r.ann.ID, all)
	check.That(t, err != nil, "a failure is reported")
	check.EqualAll(t, "what may be read while Discord fails", found, nil)
	check.Equal(t, "a link", r.connector.MessageLink(all[2], "99"), "https://discord.com/channels/"+r.guild.ID+"/"+thread+"/99")
	check.Equal(t, "a link to what is no message", r.connector.MessageLink(all[2], "reply-1"), "")
}

// Of servers whose events another process receives, nothing is known: Discord is asked each time.
func TestReadableInServersOfOtherProcesses(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	d, _ := r.otherProcess()
	d.shards.count.Store(2) // of which it has the first
	g := guildOn(r.Server, 1, 2, r.ann)
	far := []string{"discord:" + g.ID + "/" + r.Channel(g.ID, "far").ID}
	readable := func(person string) []string { return check.Must(d.Readable(r.ctx, person, far))(t) }
	check.EqualAll(t, "what ann may read", readable(r.ann.ID), far)
	check.EqualAll(t, "what a stranger may read", readable("77"), nil)
	check.Equal(t, "what is kept of the server", d.state.guild(g.ID).ID, "")
	read := r.count("GET /guilds/*/channels")
	many := slices.Repeat(far, 3)
	check.EqualAll(t, "one question about several places", check.Must(d.Readable(r.ctx, r.ann.ID, many))(t), many)
	check.Equal(t, "readings of the server for it", r.count("GET /guilds/*/channels")-read, 1)
}

// TestReadersAreThoseWithPermission compares with permissions computed step by step, in 10 000 channels at random.
func TestReadersAreThoseWithPermission(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	bits := func() bitset {
		all := []bitset{discordgo.PermissionViewChannel, discordgo.PermissionReadMessageHistory, discordgo.PermissionSendMessages, toRead, 0}
		if random.IntN(40) == 0 {
			return discordgo.PermissionAdministrator
		}
		return all[random.IntN(len(all))]
	}
	readable := 0
	for n := range 10_000 {
		g := guild{ID: "g", OwnerID: "owner", Roles: []role{{ID: "g", Permissions: bits()}, {ID: "r1", Permissions: bits()}, {ID: "r2", Permissions: bits()}}}
		p := place{ID: "c", Guild: "g", Overwrites: []overwrite{}}
		for _, whose := range []string{"g", "r1", "r2", "ann", "bob"} {
			if random.IntN(2) == 0 {
				p.Overwrites = append(p.Overwrites, overwrite{ID: whose, Allow: bits(), Deny: bits()})
			}
		}
		var s stateCache
		s.addGuild(g)
		s.add(p)
		m := &member{}
		for _, r := range []string{"r1", "r2"} {
			if random.IntN(2) == 0 {
				m.Roles = append(m.Roles, r)
			}
		}
		r := reader{state: &s, person: "ann", members: map[string]*member{"g": m}}
		may, err := r.mayRead(t.Context(), chat.ParsePlace("discord:g/c"))
		check.NoError(t, err)
		check.Equal(t, fmt.Sprintf("whether ann may read channel %d: %+v %+v %v", n, g, p, m.Roles), may, mayRead(g, p, m.Roles))
		if may {
			readable++
		}
	}
	check.That(t, readable > 1000 && readable < 9000, "%d of 10 000 may be read", readable)
}

func TestLinksToMessages(t *testing.T) {
	d := bot(t)
	d.state.add(place{ID: "30", Guild: "9", Parent: "20", Type: discordgo.ChannelTypeGuildPublicThread})
	for link, want := range map[string]string{
		"https://discord.com/channels/9/20/100":        "discord:9/20 100",
		"https://discord.com/channels/9/30/100":        "discord:9/20/30 100",
		"https://ptb.discord.com/channels/9/20/100.":   "discord:9/20 100",
		"https://canary.discord.com/channels/9/20/100": "discord:9/20 100",
		"https://discordapp.com/channels/@me/40/100":   "discord:@me/40 100",
		"https://discord.com/channels/8/20/100":        "discord:8/20 100", // where the bot knows nothing
		"https://discord.com/channels/9/20":            " ",
		"https://discord.com.example/channels/9/20/1":  " ",
		"http://discord.com/channels/9/20/100":         " ",
	} {
		place, id := d.MessageAt(link)
		check.Equal(t, link, place+" "+id, want)
		if place != "" && strings.HasPrefix(link, "https://discord.com/") {
			check.Equal(t, "and back", d.MessageLink(place, id), link)
		}
	}
}

// mayRead computes what ann may do by the steps of Discord's documentation (Permissions: Permission Overwrites).
func mayRead(g guild, p place, roles []string) bool {
	base := g.Roles[0].Permissions
	for _, r := range g.Roles[1:] {
		if slices.Contains(roles, r.ID) {
			base |= r.Permissions
		}
	}
	if base&discordgo.PermissionAdministrator != 0 {
		return true
	}
	var everyone, own overwrite
	var deny, allow bitset
	for _, o := range p.Overwrites {
		switch {
		case o.ID == "g":
			everyone = o
		case o.ID == "ann":
			own = o
		case slices.Contains(roles, o.ID):
			deny |= o.Deny
			allow |= o.Allow
		}
	}
	base &^= everyone.Deny
	base |= everyone.Allow
	base &^= deny
	base |= allow
	base &^= own.Deny
	base |= own.Allow
	return base&discordgo.PermissionViewChannel != 0 && base&discordgo.PermissionReadMessageHistory != 0
}
