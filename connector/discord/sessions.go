// Sessions with the gateway, one after another: what keeps the bot connected, and which errors only a person can fix.

package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/connector/platform"
)

const (
	maxIdentifyPause = 2 * time.Minute // between two new sessions, so that Discord's 1000 a day suffice (Gateway: Session Start Limit)
)

// sessions starts sessions, as often as Discord allows. Only the goroutine in Run uses it.
type sessions struct {
	base        *platform.Base
	rest        *rest
	pauses      *pauses
	servers     *servers
	mentionOnly bool                                          // see Options
	handle      func(name string, data json.RawMessage) error // see session

	lastIdentify time.Time // when the latest session began
	nextIdentify time.Time // when the next session may begin
}

// fatalMessages say what to do, by close code (Discord, Opcodes and Status Codes: Gateway Close Event Codes).
var fatalMessages = map[int]string{
	4004: "the token is refused; check DISCORD_TOKEN: https://discord.com/developers/applications → your application → Bot → Reset Token",
	4010: outdated,
	4011: "the bot is in too many servers (code 4011): " + oneConnection + ". To go on, remove the bot from some servers, or " + divide,
	4012: outdated,
	4013: outdated,
	4014: "the bot is not allowed to read messages: switch on Message Content Intent at https://discord.com/developers/applications → your application → Bot → Privileged Gateway Intents, or set message_content = false under [discord] to answer only messages addressed to it",
}

const outdated = "Discord no longer accepts how this version of Cairn connects (codes 4010, 4012, 4013): update cairn, or check the server at api_base"

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
func (s *sessions) supervise(ctx context.Context) error {
	s.base.Work.Open(ctx)
	var latest *session // nil: none yet, or it could not be prepared
	return s.base.Link.Keep(s.base.Work.Ctx, func(ctx context.Context) (err error) {
		fresh := latest == nil || latest.id == ""
		if fresh {
			latest, err = s.newSession(ctx)
		}
		if err == nil {
			connection, done := s.base.Link.Connection(ctx)
			err = latest.connect(connection)
			done()
			if errors.Is(err, platform.ErrDeaf) { // the session may be what delivers nothing
				latest.id = ""
			}
			if fresh && !latest.identified.IsZero() {
				s.noteIdentify(latest.identified)
			}
		}
		return cmp.Or(fatal(err), err)
	})
}

// noteIdentify sets when the next session may start. New sessions that follow each other soon get longer and longer pauses.
func (s *sessions) noteIdentify(at time.Time) {
	pause := &s.pauses.identify
	if at.Sub(s.lastIdentify) > 2*maxIdentifyPause {
		pause.Reset()
	}
	s.lastIdentify = at
	s.nextIdentify = at.Add(max(pause.First, pause.Next())) // Next may be shorter than First
}

// newSession waits until Discord accepts a new session (Discord, Gateway: Rate Limiting; Session Start Limit).
func (s *sessions) newSession(ctx context.Context) (*session, error) {
	found, err := s.rest.findGateway(s.base.Link.AwaitAnswers(ctx, "the answer to GET /gateway/bot"))
	wait := time.Until(s.nextIdentify)
	switch {
	case err != nil:
		return nil, err
	case found.URL == "":
		return nil, errors.New("the server does not say where its gateway is")
	case found.Start != nil && found.Start.Remaining < 1:
		wait = max(wait, time.Duration(found.Start.ResetAfter)*time.Millisecond)
		s.base.Log.Warn("session_limit_reached", "wait", wait.Round(time.Second))
	}
	s.servers.recommended = found.Shards
	if err := platform.Sleep(ctx, wait); err != nil {
		return nil, err
	}
	intents := discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages
	if !s.mentionOnly {
		intents |= discordgo.IntentMessageContent
	}
	return &session{token: s.rest.token, gateway: found.URL, intents: intents, timeout: s.pauses.open, handle: s.handle, await: s.base.Link.Await}, nil
}

// gateway is what Discord reports about its gateway (Discord, Gateway: Get Gateway Bot).
type gateway struct {
	URL    string
	Shards int // recommended number of connections
	Start  *struct {
		Remaining  int   `json:"remaining"`
		ResetAfter int64 `json:"reset_after"` // ms
	} `json:"session_start_limit"`
}

func (r *rest) findGateway(ctx context.Context) (found gateway, err error) {
	err = r.do(ctx, call{method: http.MethodGet, path: "/gateway/bot", into: &found})
	if refusalIn(err).status == http.StatusNotFound { // a compatible server may know only the other path
		err = r.do(ctx, call{method: http.MethodGet, path: "/gateway", into: &found})
	}
	return found, err
}
