// What Discord reports about a token, and what a person has to do about it.

package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/chat"
	"cairn/connector/platform"
)

// contentFlags are those of an app, verified or not, that may read message content (Discord, Application: Application Flags).
const contentFlags = 1<<18 | 1<<19

const invitePermissions = discordgo.PermissionViewChannel | discordgo.PermissionSendMessages | discordgo.PermissionSendMessagesInThreads |
	discordgo.PermissionReadMessageHistory | discordgo.PermissionAddReactions

// InviteURL returns the address at which people invite an application's bot to their server.
func InviteURL(application string) string {
	return fmt.Sprintf("https://discord.com/oauth2/authorize?client_id=%s&scope=bot%%20applications.commands&permissions=%d", url.QueryEscape(application), invitePermissions)
}

// Application is what Discord reports about a token.
type Application struct {
	ID        string                // for InviteURL
	Bot       string                // the bot's name
	NoContent bool                  // the bot may not read messages that are not addressed to it
	User      string                // id of the bot's user
	Servers   []discordgo.UserGuild // the first of them
	Count     int                   // of all servers, about
}

// ErrContentIntent is returned if Message Content Intent is needed but off. Its text says what to do.
var ErrContentIntent = errors.New(fatalMessages[4014])

// Application asks Discord what the token belongs to. The error says what a person has to do, or that Discord cannot be
// reached; the result then contains what was found before it.
func (d *Discord) Application(ctx context.Context) (found Application, err error) {
	defer d.rest.client.CloseIdleConnections()
	get := func(path string, into any) error {
		err := d.rest.do(ctx, call{method: http.MethodGet, path: path, into: into})
		return cmp.Or(fatal(err), err)
	}
	var self discordgo.User
	if err := get("/users/@me", &self); err != nil {
		return found, err
	}
	found.ID = self.ID
	found.User = self.ID
	found.Bot = self.Username
	var app struct {
		ID    string
		Flags int
		Count int `json:"approximate_guild_count"`
	}
	err = get("/applications/@me", &app)
	switch {
	case refusalIn(err).status == http.StatusNotFound: // a compatible server may not know this
	case err != nil:
		return found, err
	default:
		found.ID = cmp.Or(app.ID, found.ID)
		found.NoContent = app.Flags&contentFlags == 0
	}
	err = get("/users/@me/guilds", &found.Servers) // the first page of them
	found.Count = max(len(found.Servers), app.Count)
	return found, err
}

// Check asks Discord what the token allows, and returns its findings, one sentence each. Errors are those of Application.
func (d *Discord) Check(ctx context.Context) (facts []string, err error) {
	app, err := d.Application(ctx)
	facts = d.ClockFacts()
	if app.Bot != "" {
		facts = append(facts, fmt.Sprintf("the token is valid: the bot is %s", app.Bot))
	}
	switch {
	case err != nil:
		return facts, err
	case d.o.MentionOnly:
		facts = append(facts, "it answers only messages addressed to it: Message Content Intent is not needed")
	case app.NoContent:
		return facts, ErrContentIntent
	default:
		facts = append(facts, "Message Content Intent is on")
	}
	if len(app.Servers) == 0 {
		return facts, errors.New("the bot is in no server: invite it with " + InviteURL(app.ID))
	}
	facts = append(facts, fmt.Sprintf("servers with the bot: %d", app.Count))
	facts = append(facts, d.shardFacts(ctx, app.Count)...)
	found, checked := d.readChannels(ctx, app.Servers, user{ID: app.User})
	if more := app.Count - checked; more > 0 {
		facts = append(facts, fmt.Sprintf("permissions to write were checked in %d of them, and not in %d more", checked, more))
	}
	if d.o.Threads == threadsMention {
		facts = append(facts, found.threadFacts(d.Clock.Now())...)
	}
	return append(facts, platform.UnwritableFacts(found.unwritable(d.Clock.Now(), d.o.Threads == threadsMention))...), nil
}

// shardFacts returns what Check reports of the connections that the connector would open, and of the sessions that may still start.
func (d *Discord) shardFacts(ctx context.Context, servers int) (facts []string) {
	found, err := d.rest.findGateway(ctx)
	if err != nil {
		return []string{"warning: Discord does not say how many connections it recommends: " + err.Error()}
	}
	count := cmp.Or(d.o.Shards, found.Shards, 1)
	facts = append(facts, fmt.Sprintf("connections (shards): %d, Discord recommends %d; about %d servers on each", count, max(1, found.Shards), servers/count))
	if servers/count >= manyServers {
		facts = append(facts, "warning: "+crowded(servers/count, remedy(d.o.Shards, count)))
	}
	limit := found.Start
	if limit == nil {
		return facts
	}
	fact := fmt.Sprintf("new sessions that Discord still accepts: %d of %d; all again from %s", limit.Remaining, limit.Total, chat.Time(time.Now().Add(limit.resetAfter())))
	if limit.Remaining < count { // a restart needs one for each connection
		fact = "warning: " + fact + ". Do not restart cairn before: each connection needs one"
	}
	return append(facts, fact)
}
