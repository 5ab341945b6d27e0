package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/bwmarrin/discordgo"
)

// The flags of an application that may read message content (Discord, Application: Application
// Flags): of a verified one, and of one in fewer than 100 servers.
const (
	flagMessageContent        = 1 << 18
	flagMessageContentLimited = 1 << 19
)

// invitePermissions are the permissions that InviteURL asks for.
const invitePermissions = discordgo.PermissionViewChannel | discordgo.PermissionSendMessages | discordgo.PermissionSendMessagesInThreads |
	discordgo.PermissionReadMessageHistory | discordgo.PermissionAddReactions

// InviteURL returns the address at which people invite an application's bot to their server.
func InviteURL(application string) string {
	return fmt.Sprintf("https://discord.com/oauth2/authorize?client_id=%s&scope=bot%%20applications.commands&permissions=%d", url.QueryEscape(application), invitePermissions)
}

// Application is what Discord reports about a token.
type Application struct {
	ID        string // for InviteURL
	Bot       string // the bot's name
	NoContent bool   // the bot may not read messages that are not addressed to it
	Servers   int    // number of servers that the bot is in
}

// ErrContentIntent is returned if Message Content Intent is needed but off. Its text says what to
// do.
var ErrContentIntent = errors.New(fatalMessages[4014])

// Application asks Discord whether the token is valid and what it belongs to, without connecting.
// The error says what a person has to do, or that Discord cannot be reached; the result then
// contains what was found before it.
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
	found.ID, found.Bot = self.ID, self.Username
	var app struct {
		ID    string
		Flags int
	}
	err = get("/applications/@me", &app)
	var refused *refusal
	switch {
	case errors.As(err, &refused) && refused.status == http.StatusNotFound: // a compatible server may not know this
	case err != nil:
		return found, err
	default:
		found.ID, found.NoContent = cmp.Or(app.ID, found.ID), app.Flags&(flagMessageContent|flagMessageContentLimited) == 0
	}
	var guilds []discordgo.UserGuild
	err = get("/users/@me/guilds", &guilds)
	found.Servers = len(guilds)
	return found, err
}

// Check asks Discord whether the token is valid and what it allows, without connecting. It returns
// its findings, one sentence each. The error says what a person has to do, or that Discord cannot
// be reached.
func (d *Discord) Check(ctx context.Context) (facts []string, err error) {
	app, err := d.Application(ctx)
	if app.Bot != "" {
		facts = append(facts, fmt.Sprintf("the token is good: the bot is %s", app.Bot))
	}
	switch {
	case err != nil:
		return facts, err
	case d.o.MentionOnly:
		facts = append(facts, "it answers what is addressed to it: Message Content Intent is not needed")
	case app.NoContent:
		return facts, ErrContentIntent
	default:
		facts = append(facts, "Message Content Intent is on")
	}
	if app.Servers == 0 {
		return facts, errors.New("the bot is in no server: invite it with " + InviteURL(app.ID))
	}
	return append(facts, fmt.Sprintf("servers that it is in: %d", app.Servers)), nil
}
