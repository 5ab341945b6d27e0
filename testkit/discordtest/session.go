// A session is the client's position in the stream of events. It is kept while the client is disconnected, so that it can resume.

package discordtest

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/testkit/loopback"
)

const (
	privileged = discordgo.IntentGuildMembers | discordgo.IntentGuildPresences | discordgo.IntentMessageContent

	// Discord, Gateway: List of Intents: bits 17 to 19, 22 and 23, and all above 25 are not intents.
	knownIntents = 1<<17 - 1 | 1<<20 | 1<<21 | 1<<24 | 1<<25
)

type session struct {
	id      string
	shard   [2]int // its id, and the number of shards
	sharded bool   // IDENTIFY had a shard
	intents discordgo.Intent
	sent    []discordgo.Event // every event; the one with sequence n is at n-1
	conn    *connection       // nil while the client is disconnected
	broken  bool              // every RESUME is answered with close code 4007
}

type event struct {
	name    string
	intent  discordgo.Intent // one of these bits is required; 0: none is
	guild   string           // which it is about; empty: none, e.g. a direct message
	data    any
	message *Message // instead of data: a message whose content may have to be hidden
}

// packet returns a message other than an event (Discord, Gateway Events: Payload Structure).
func packet(op int, data any) []byte {
	return loopback.Encode(discordgo.Event{Operation: op, RawData: loopback.Encode(data)})
}

// dispatch sends an event to the sessions of its guild's shard; that of no guild goes to shard 0 (Discord, Gateway: Sharding).
func (w *world) dispatch(e event) {
	for _, s := range w.sessions {
		if s.serves(e.guild) && (e.intent == 0 || s.intents&e.intent != 0) {
			w.send(s, e)
		}
	}
}

func (w *world) send(s *session, e event) {
	data := e.data
	if e.message != nil {
		data = w.visibleTo(*e.message, s.intents&discordgo.IntentMessageContent != 0)
	}
	p := discordgo.Event{Operation: opDispatch, Type: e.name, Sequence: int64(len(s.sent) + 1), RawData: loopback.Encode(data)}
	s.sent = append(s.sent, p)
	switch {
	case s.conn == nil || s.conn.Ending.Load():
	case w.drop > 0:
		w.drop--
	default:
		s.conn.Send(loopback.Encode(p))
	}
}

// begin starts a session on a connection: READY first, with the shard if IDENTIFY had one, then each guild of the shard (Discord,
// Gateway Events: Ready, Guild Create).
func (w *world) begin(c *connection, s *session) {
	s.id = "session-" + w.newID()
	s.conn = c
	w.sessions[s.id] = s
	c.session = s
	guilds := []map[string]any{}
	for id := range w.guilds {
		if s.serves(id) {
			guilds = append(guilds, map[string]any{"id": id, "unavailable": true})
		}
	}
	ready := map[string]any{
		"v": c.version, "user": w.bot, "guilds": guilds, "session_id": s.id,
		"resume_gateway_url": w.gatewayURL() + "/resume", "application": map[string]any{"id": w.bot.ID, "flags": 0},
	}
	if s.sharded {
		ready["shard"] = s.shard
	}
	w.send(s, event{name: "READY", data: ready})
	if s.intents&discordgo.IntentGuilds == 0 {
		return
	}
	for id, g := range w.guilds {
		if s.serves(id) {
			w.send(s, event{name: "GUILD_CREATE", data: w.guildCreate(g)})
		}
	}
}

// resume sends the missed events in order, and finally RESUMED (Discord, Gateway: Preparing to Resume).
func (w *world) resume(c *connection, s *session, seq int) {
	if old := s.conn; old != nil && old != c {
		old.session = nil
		old.Cut()
	}
	s.conn, c.session = c, s
	if s.sharded {
		c.record.Shard = &s.shard
	}
	for _, p := range s.sent[seq:] {
		c.Send(loopback.Encode(p))
	}
	w.send(s, event{name: "RESUMED", data: map[string]any{}})
}

// guildCreate shows the channels and active threads that the bot may see, and no other member, as without the members intent.
func (w *world) guildCreate(n *discordgo.Guild) discordgo.Guild {
	g := *n
	g.Members = []*discordgo.Member{member(n, w.bot.ID)}
	g.MemberCount = len(n.Members)
	for _, c := range w.channels {
		switch {
		case c.GuildID != g.ID:
		case !c.IsThread():
			g.Channels = append(g.Channels, c)
		case !c.ThreadMetadata.Archived && w.may(c, discordgo.PermissionViewChannel):
			g.Threads = append(g.Threads, c)
		}
	}
	return g
}

// received returns the close code to send, or 0 (Discord, Opcodes and Status Codes: Gateway Close Event Codes).
func (w *world) received(c *connection, data []byte) (code int) {
	// Discord, Gateway: Sending Events: at most 4096 bytes.
	var p discordgo.Event
	if c.Ending.Load() {
		return 0
	}
	if len(data) > 4096 || json.Unmarshal(data, &p) != nil {
		return 4002 // decode error
	}
	// Discord, Gateway: Rate Limiting: 120 packets in 60 s per connection.
	if now := time.Now(); now.Sub(c.window) > time.Minute {
		c.window = now
		c.inWindow = 0
	}
	c.inWindow++
	if c.inWindow > 120 {
		return 4008 // rate limited
	}
	switch p.Operation {
	case opHeartbeat:
		c.record.Heartbeats++
		_ = c.SetReadDeadline(time.Now().Add(w.options.HeartbeatWithin))
		c.Send(packet(opHeartbeatAck, nil))
	case opIdentify:
		return w.identified(c, p.RawData)
	case opResume:
		return w.resumed(c, p.RawData)
	default:
		return 4001 // unknown opcode
	}
	return 0
}

// identify is the data of an IDENTIFY (Discord, Gateway Events: Identify).
type identify struct {
	Token      string            `json:"token"`
	Properties map[string]string `json:"properties"`
	Shard      *[2]int           `json:"shard"`
	Intents    *discordgo.Intent `json:"intents"`
}

// identified handles an IDENTIFY.
func (w *world) identified(c *connection, data json.RawMessage) int {
	var id identify
	bad := json.Unmarshal(data, &id) != nil
	c.record.Identify = true
	c.record.Identified = time.Now()
	c.record.Shard = id.Shard
	if id.Intents != nil {
		c.record.Intents = *id.Intents
	}
	w.countIdentify()
	s := &session{shard: [2]int{0, 1}, sharded: id.Shard != nil}
	if s.sharded {
		s.shard = *id.Shard
	}
	switch {
	case c.session != nil:
		return 4005 // already authenticated
	case bad || id.Intents == nil || id.Properties == nil:
		return 4002 // decode error
	case !w.validToken(id.Token):
		return 4004 // authentication failed
	case s.shard[0] < 0 || s.shard[0] >= s.shard[1]:
		return 4010 // invalid shard
	case s.shard[1]%w.options.ShardMultiple != 0: // Discord, Gateway: Sharding for Large Bots
		return 4010
	case *id.Intents < 0 || *id.Intents&^knownIntents != 0:
		return 4013 // invalid intents
	case *id.Intents&privileged&w.options.Forbidden != 0:
		return 4014 // disallowed intents
	}
	s.intents = *id.Intents
	bucket := s.shard[0] % w.options.MaxConcurrency // Discord, Gateway: Max Concurrency
	now := w.options.StartsClock()
	soon := now.Sub(w.lastStart[bucket]) < w.options.IdentifyEvery
	w.lastStart[bucket] = now
	if done, code := c.playHandshake(); done {
		return code
	}
	if w.served(s) > w.options.ServersPerShard { // Discord, Gateway: Sharding; at most 2500 guilds
		return 4011 // sharding required
	}
	if soon { // Discord, Gateway: Identifying, Rate Limiting: IDENTIFYs per 5 s, one in each bucket
		c.Send(packet(opInvalidSession, false))
		return 0
	}
	w.begin(c, s)
	return 0
}

// resumed handles a RESUME (Discord, Gateway Events: Resume). An unknown session is answered with op 9.
func (w *world) resumed(c *connection, data json.RawMessage) int {
	var r struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int    `json:"seq"`
	}
	bad := json.Unmarshal(data, &r) != nil
	c.record.Resume = true
	s := w.sessions[r.Session]
	switch {
	case c.session != nil:
		return 4005 // already authenticated
	case bad:
		return 4002 // decode error
	case !w.validToken(r.Token):
		return 4004 // authentication failed
	}
	if done, code := c.playHandshake(); done {
		if s != nil && code == 4007 {
			s.broken = true
		}
		return code
	}
	switch {
	case s == nil:
		c.Send(packet(opInvalidSession, false))
	case s.broken || r.Seq < 0 || r.Seq > len(s.sent):
		return 4007 // invalid seq
	default:
		w.resume(c, s, r.Seq)
	}
	return 0
}

// validToken accepts the token with and without "Bot ", as Discord does.
func (w *world) validToken(token string) bool {
	return !w.tokenReset && strings.TrimPrefix(token, "Bot ") == w.options.Token
}
