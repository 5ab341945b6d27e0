// The supervisor keeps the bot connected, until an error that only a person can fix.

package discord

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/internal/platform"
)

const (
	maxPause    = 2 * time.Minute // between two connections, so that the 1000 new sessions a day suffice
	steadyAfter = time.Minute     // a connection that lasted this long resets the backoff
)

// fatalMessages say what to do about errors that do not go away by themselves, by the gateway's
// close code (Discord, Opcodes and Status Codes: Gateway Close Event Codes).
var fatalMessages = map[int]string{
	4004: "the token is refused; check DISCORD_TOKEN: https://discord.com/developers/applications → your application → Bot → Reset Token",
	4010: outdated,
	4011: "the bot is in more servers than one connection may serve (code 4011); remove it from some: it cannot be split over several connections yet",
	4012: outdated,
	4013: outdated,
	4014: "the bot may not read messages: switch on Message Content Intent at https://discord.com/developers/applications → your application → Bot → Privileged Gateway Intents, or set message_content = false under [discord] to answer only what is addressed to it",
}

const outdated = "Discord no longer accepts how this version of Cairn connects (codes 4010, 4012, 4013): update cairn, or look at the server behind api_base"

// fatal returns an error that says what to do about err, or nil if a retry may help.
func fatal(err error) error {
	if refusalIn(err).status == http.StatusUnauthorized {
		return platform.SetupError(fatalMessages[4004])
	}
	if text := fatalMessages[closeCode(err)]; text != "" {
		return platform.SetupError(text)
	}
	return nil
}

// supervise keeps the connector connected until ctx is done. It returns only errors that a person has to fix.
func (d *Discord) supervise(ctx context.Context) error {
	d.Work.Open(ctx)
	var s *session // the latest; nil: none yet, or it could not be prepared
	return d.Link.Keep(d.Work.Context(), func(ctx context.Context) (err error) {
		fresh := s == nil || s.id == ""
		if fresh {
			s, err = d.newSession(ctx)
		}
		if err == nil {
			err = s.connect(ctx)
			if fresh && !s.identified.IsZero() {
				d.lastIdentify = s.identified
			}
		}
		return cmp.Or(fatal(err), err)
	})
}

// newSession prepares a new session, after waiting until Discord accepts one (Discord, Gateway:
// Rate Limiting; Session Start Limit).
func (d *Discord) newSession(ctx context.Context) (*session, error) {
	var found struct {
		URL   string
		Start *struct {
			Remaining  int   `json:"remaining"`
			ResetAfter int64 `json:"reset_after"` // ms
		} `json:"session_start_limit"`
	}
	err := d.rest.do(ctx, call{method: http.MethodGet, path: "/gateway/bot", into: &found})
	if refusalIn(err).status == http.StatusNotFound { // a compatible server may know only the other path
		err = d.rest.do(ctx, call{method: http.MethodGet, path: "/gateway", into: &found})
	}
	wait := time.Until(d.lastIdentify.Add(d.pauses.identify))
	switch {
	case err != nil:
		return nil, err
	case found.URL == "":
		return nil, errors.New("the server does not say where its gateway is")
	case found.Start != nil && found.Start.Remaining < 1:
		wait = max(wait, time.Duration(found.Start.ResetAfter)*time.Millisecond)
		d.Log.Warn("session_limit_reached", "wait", wait.Round(time.Second))
	}
	if err := platform.Sleep(ctx, wait); err != nil {
		return nil, err
	}
	intents := discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages
	if !d.o.MentionOnly {
		intents |= discordgo.IntentMessageContent
	}
	return &session{token: d.o.Token, gateway: found.URL, intents: intents, timeout: d.pauses.open, handle: d.event}, nil
}
