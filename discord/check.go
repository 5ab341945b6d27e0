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

// The flags of an application that may read messages (Discord, Application: Application
// Flags): of a verified one, and of one in fewer than 100 servers.
const (
	flagMessageContent        = 1 << 18
	flagMessageContentLimited = 1 << 19
)

// invited is what the bot may do in a server that invites it.
const invited = discordgo.PermissionViewChannel | discordgo.PermissionSendMessages | discordgo.PermissionSendMessagesInThreads |
	discordgo.PermissionReadMessageHistory | discordgo.PermissionAddReactions

// InviteURL is the address at which people invite the bot of an application into their server.
func InviteURL(application string) string {
	return fmt.Sprintf("https://discord.com/oauth2/authorize?client_id=%s&scope=bot%%20applications.commands&permissions=%d", url.QueryEscape(application), invited)
}

// Application is what Discord says about a token.
type Application struct {
	ID      string // for InviteURL
	Bot     string // the bot's name
	Content Intent // whether it may read messages that are not addressed to it
	Servers int    // in which the bot is
}

// Intent says whether an intent is switched on.
type Intent int

// A compatible server need not know intents.
const (
	IntentUnknown Intent = iota
	IntentOff
	IntentOn
)

// ErrContentIntent says what to do where Message Content Intent is needed and is off.
var ErrContentIntent = errors.New(fatalMessages[4014])

// Application asks Discord whether the token is valid and what it is for, without connecting.
// After an error it holds what was found out until then; the error says what a person has to
// do, or that Discord cannot be reached.
func (d *Discord) Application(ctx context.Context) (found Application, err error) {
	defer d.rest.client.CloseIdleConnections()
	ask := func(path string, into any) error {
		err := d.rest.do(ctx, call{method: http.MethodGet, path: path, into: into})
		if no := fatal(err); no != nil {
			return no
		}
		return err
	}
	var self discordgo.User
	if err := ask("/users/@me", &self); err != nil {
		return found, err
	}
	found.ID, found.Bot = self.ID, self.Username
	var app struct {
		ID    string `json:"id"`
		Flags int    `json:"flags"`
	}
	err = ask("/applications/@me", &app)
	var no *refusal
	switch {
	case errors.As(err, &no) && no.status == http.StatusNotFound: // a compatible server need not know this
	case err != nil:
		return found, err
	default:
		found.ID, found.Content = cmp.Or(app.ID, found.ID), IntentOff
		if app.Flags&(flagMessageContent|flagMessageContentLimited) != 0 {
			found.Content = IntentOn
		}
	}
	var guilds []discordgo.UserGuild
	err = ask("/users/@me/guilds", &guilds)
	found.Servers = len(guilds)
	return found, err
}

// Check asks Discord whether the token is valid and what it allows, without connecting. It returns
// its findings, one sentence each; the error says what a person has to do, or that Discord cannot
// be reached.
func (d *Discord) Check(ctx context.Context) (facts []string, err error) {
	app, err := d.Application(ctx)
	if app.Bot != "" {
		facts = append(facts, fmt.Sprintf("the token is good: the bot is %s", app.Bot))
	}
	switch {
	case app.Content == IntentUnknown:
	case d.o.MentionOnly:
		facts = append(facts, "it answers what is addressed to it: Message Content Intent is not needed")
	case app.Content == IntentOff:
		return facts, ErrContentIntent
	default:
		facts = append(facts, "Message Content Intent is on")
	}
	switch {
	case err != nil:
		return facts, err
	case app.Servers == 0:
		return facts, errors.New("the bot is in no server: invite it with " + InviteURL(app.ID))
	}
	return append(facts, fmt.Sprintf("it is in %d servers", app.Servers)), nil
}
