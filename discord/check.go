package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/bwmarrin/discordgo"
)

// The flags of an application that may read messages (Discord, Application: Application
// Flags): of a verified one, and of one in fewer than 100 servers.
const (
	flagMessageContent        = 1 << 18
	flagMessageContentLimited = 1 << 19
)

// Check asks Discord whether the token is good and what it may do, without opening the
// door. It returns what it found, a sentence each; the error says what a person has to
// do, or that Discord cannot be reached.
func (d *Discord) Check(ctx context.Context) (facts []string, err error) {
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
		return nil, err
	}
	facts = append(facts, fmt.Sprintf("the token is good: the bot is %s", self.Username))
	var app struct {
		Flags int `json:"flags"`
	}
	err = ask("/applications/@me", &app)
	var no *refusal
	switch {
	case errors.As(err, &no) && no.status == http.StatusNotFound: // a compatible server need not know this
	case err != nil:
		return facts, err
	case d.o.MentionOnly:
		facts = append(facts, "it answers what is addressed to it: Message Content Intent is not needed")
	case app.Flags&(flagMessageContent|flagMessageContentLimited) == 0:
		return facts, errors.New(sentences[4014])
	default:
		facts = append(facts, "Message Content Intent is on")
	}
	var guilds []discordgo.UserGuild
	if err := ask("/users/@me/guilds", &guilds); err != nil {
		return facts, err
	}
	if len(guilds) == 0 {
		return facts, errors.New("the bot is in no server: invite it with the link in docs/discord.md")
	}
	return append(facts, fmt.Sprintf("it is in %d servers", len(guilds))), nil
}
