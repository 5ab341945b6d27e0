// Sessions with the gateway, one after another: what keeps a shard connected, and which errors only a person can fix.

package discord

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/connector/platform"
)

const (
	maxIdentifyPause = 2 * time.Minute // between two new sessions of the only shard, so that Discord's 1000 a day suffice (Gateway: Session Start Limit)
)

// shard is one of the connections among which Discord divides the bot's servers: it starts sessions, as often as Discord allows.
// Only its goroutine uses it, apart from at.
type shard struct {
	*shards
	id      int
	link    *platform.Link
	servers *servers
	events  *events
	opened  time.Time     // since when this process has the shard
	left    string        // by the process before, see position; empty: nothing
	tried   chan struct{} // closed once the first session is ready, or failed
	endTry  func()        // closes tried, once

	at atomic.Pointer[position] // how far the latest session has come; nil: nowhere, or there are no other processes

	pause        platform.Backoff // see noteIdentify
	lastIdentify time.Time        // when the latest session began
	nextIdentify time.Time        // when the next session may begin
}

// fatalMessages say what to do, by close code (Discord, Opcodes and Status Codes: Gateway Close Event Codes).
var fatalMessages = map[int]string{
	4004: "the token is refused; check DISCORD_TOKEN: https://discord.com/developers/applications → your application → Bot → Reset Token",
	4010: "Discord does not accept this number of connections (code 4010): set shards = 0 under [discord], and restart cairn, so that it opens as many as Discord asks for",
	4011: "the bot is in too many servers for the number of its connections (code 4011): " + perConnection + ". Set shards = 0 under [discord], and restart cairn, so that it opens as many as Discord recommends; or set a higher number",
	4012: outdated,
	4013: outdated,
	4014: "the bot is not allowed to read messages: switch on Message Content Intent at https://discord.com/developers/applications → your application → Bot → Privileged Gateway Intents, or set message_content = false under [discord] to answer only messages addressed to it",
}

const outdated = "Discord no longer accepts how this version of Cairn connects (codes 4012, 4013): update cairn, or check the server at api_base"

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

// keep keeps the shard connected until ctx is done. It returns only errors that a person has to fix.
func (s *shard) keep(ctx context.Context) error {
	latest := s.adopt(ctx) // nil: none yet, or it could not be prepared
	return s.link.Keep(ctx, func(ctx context.Context) (err error) {
		if !s.base.Work.MayAnswer() { // or the session would be taken from the process that has resumed it
			return errOver
		}
		fresh := latest == nil || latest.id == ""
		if fresh {
			latest, err = s.newSession(ctx)
		}
		if err == nil {
			connection, done := s.link.Connection(ctx)
			err = latest.connect(connection)
			done()
			latest.ready()                        // if it ended before READY
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

var errOver = errors.New("the lease of this process is over: others may receive")

// noteIdentify sets when the next session may start. New sessions that follow each other soon get longer and longer pauses, the
// longer the more shards share the sessions of a day.
func (s *shard) noteIdentify(at time.Time) {
	limit := s.pauses.identify
	s.pause.First = limit.First
	s.pause.Max = limit.Max * time.Duration(max(1, s.count.Load()))
	if at.Sub(s.lastIdentify) > 2*s.pause.Max {
		s.pause.Reset()
	}
	s.lastIdentify = at
	s.nextIdentify = at.Add(max(s.pause.First, s.pause.Next())) // Next may be shorter than First
}

// newSession waits until Discord accepts a new session (Discord, Gateway: Rate Limiting; Session Start Limit). Until Discord has
// answered IDENTIFY, and so counted it, no other shard of the bucket starts one.
func (s *shard) newSession(ctx context.Context) (created *session, err error) {
	if err := platform.Sleep(ctx, time.Until(s.nextIdentify)); err != nil {
		return nil, err
	}
	bucket := s.bucketOf(s.id)
	next, err := bucket.take(ctx)
	if err != nil {
		return nil, err
	}
	free := func(identified time.Time) {
		if !identified.IsZero() {
			next = identified.Add(s.pauses.identify.First)
			s.starts.noteStart()
		}
		s.endStart(time.Until(next))
		bucket <- next
		s.endTry()
	}
	var found gateway
	err = platform.Sleep(ctx, time.Until(next))
	if err == nil {
		found, err = s.awaitStart(ctx)
	}
	if err != nil {
		free(time.Time{})
		return nil, err
	}
	created = s.prepare(found.URL)
	created.ready = sync.OnceFunc(func() {
		free(created.identified)
		s.saveSoon()
	})
	return created, nil
}

// prepare returns a session that has not started.
func (s *shard) prepare(gateway string) *session {
	prepared := &session{
		token: s.rest.token, gateway: gateway, intents: s.intents(), shard: s.identity(s.id), timeout: s.pauses.open, handle: s.events.handle, await: s.link.Await,
	}
	if _, _, alone := s.fleet.Owned(); !alone {
		prepared.note = func() { s.note(prepared) }
	}
	return prepared
}

func (s *shards) intents() discordgo.Intent {
	intents := discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages
	if !s.mentionOnly {
		intents |= discordgo.IntentMessageContent
	}
	if s.reactions {
		intents |= discordgo.IntentGuildMessageReactions | discordgo.IntentDirectMessageReactions
	}
	return intents
}
