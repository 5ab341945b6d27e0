// What the client says on the gateway, and the close codes for what it may not
// say.
package discordtest

import (
	"encoding/json"
	"strings"
	"time"
)

// Close codes (Discord, Opcodes and Status Codes: Gateway Close Event Codes).
const (
	CloseUnknown           = 4000
	CloseUnknownOpcode     = 4001
	CloseDecodeError       = 4002
	CloseAuthFailed        = 4004
	CloseAlreadyIdentified = 4005
	CloseInvalidSeq        = 4007
	CloseRateLimited       = 4008
	CloseSessionTimeout    = 4009
	CloseInvalidShard      = 4010
	CloseShardingRequired  = 4011
	CloseInvalidVersion    = 4012
	CloseInvalidIntents    = 4013
	CloseDisallowedIntents = 4014
)

var closeReasons = map[int]string{
	CloseUnknown:           "Unknown error.",
	CloseUnknownOpcode:     "Unknown opcode.",
	CloseDecodeError:       "Error while decoding payload.",
	CloseAuthFailed:        "Authentication failed.",
	CloseAlreadyIdentified: "Already authenticated.",
	CloseInvalidSeq:        "Invalid seq.",
	CloseRateLimited:       "Rate limited.",
	CloseSessionTimeout:    "Session timed out.",
	CloseInvalidShard:      "Invalid shard.",
	CloseShardingRequired:  "Sharding required.",
	CloseInvalidVersion:    "Invalid API version.",
	CloseInvalidIntents:    "Invalid intent(s).",
	CloseDisallowedIntents: "Disallowed intent(s).",
}

// received handles one packet and returns the close code it deserves, or 0.
func (w *world) received(c *connection, data []byte) (code int) {
	// Discord, Gateway: Sending Events: at most 4096 bytes.
	var p packet
	if len(data) > 4096 || json.Unmarshal(data, &p) != nil {
		return CloseDecodeError
	}
	// Discord, Gateway: Rate Limiting: 120 packets in 60 s and connection.
	if now := time.Now(); now.Sub(c.window) > time.Minute {
		c.window, c.inWindow = now, 0
	}
	if c.inWindow++; c.inWindow > 120 {
		return CloseRateLimited
	}
	switch p.Op {
	case opHeartbeat:
		c.record.Heartbeats++
		c.push(frame{data: encode(packet{Op: opHeartbeatAck})})
	case opIdentify:
		return w.identified(c, p.Data)
	case opResume:
		return w.resumed(c, p.Data)
	default:
		return CloseUnknownOpcode
	}
	return 0
}

// identified judges an IDENTIFY (Discord, Gateway Events: Identify).
func (w *world) identified(c *connection, data json.RawMessage) int {
	var id struct {
		Token      string            `json:"token"`
		Properties map[string]string `json:"properties"`
		Shard      *[2]int           `json:"shard"`
		Intents    *int              `json:"intents"`
	}
	bad := json.Unmarshal(data, &id) != nil
	c.record.Identify = true
	if id.Intents != nil {
		c.record.Intents = *id.Intents
	}
	w.identifies++
	if w.identifies > w.options.IdentifyLimit {
		w.resetToken()
	}
	soon := time.Since(w.lastStart) < w.options.IdentifyEvery
	w.lastStart = time.Now()
	switch {
	case c.session != nil:
		return CloseAlreadyIdentified
	case bad || id.Intents == nil || id.Properties == nil:
		return CloseDecodeError
	case !w.tokenGood(id.Token):
		return CloseAuthFailed
	case id.Shard != nil && (id.Shard[0] < 0 || id.Shard[0] >= id.Shard[1]):
		return CloseInvalidShard
	case *id.Intents < 0 || *id.Intents&^knownIntents != 0:
		return CloseInvalidIntents
	case *id.Intents&privileged&w.options.Forbidden != 0:
		return CloseDisallowedIntents
	}
	if done, code := c.disturbed(); done {
		return code
	}
	if soon { // Discord, Gateway: Max Concurrency: so many IDENTIFYs in 5 s, here one; op 9 is judgement
		c.push(frame{data: encode(packet{Op: opInvalidSession, Data: encode(false)})})
		return 0
	}
	w.begin(c, *id.Intents)
	return 0
}

// resumed judges a RESUME (Discord, Gateway Events: Resume). A session that is
// not known is answered with op 9.
func (w *world) resumed(c *connection, data json.RawMessage) int {
	var r struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int    `json:"seq"`
	}
	bad := json.Unmarshal(data, &r) != nil
	c.record.Resume = true
	c.record.ResumeSeq = r.Seq
	s := w.sessions[r.Session]
	switch {
	case c.session != nil:
		return CloseAlreadyIdentified
	case bad:
		return CloseDecodeError
	case !w.tokenGood(r.Token):
		return CloseAuthFailed
	}
	if done, code := c.disturbed(); done {
		if s != nil && code == CloseInvalidSeq {
			s.broken = true
		}
		return code
	}
	switch {
	case s == nil:
		c.push(frame{data: encode(packet{Op: opInvalidSession, Data: encode(false)})})
	case s.broken || r.Seq < 0 || r.Seq > len(s.sent):
		return CloseInvalidSeq
	default:
		w.resume(c, s, r.Seq)
	}
	return 0
}

// tokenGood takes the token with and without "Bot ", as Discord does.
func (w *world) tokenGood(token string) bool {
	return !w.tokenReset && strings.TrimPrefix(token, "Bot ") == w.options.Token
}
