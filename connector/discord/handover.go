// Sessions from one process to the next: a process notes how far it has come in the session of each of its shards, and who gets the
// shard resumes the session there (Discord, Gateway: Resuming), so that Discord sends what was missed.

package discord

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"cairn/connector/platform"
)

const (
	saveEvery     = time.Second            // how often the positions in the sessions are written
	settleTimeout = 400 * time.Millisecond // of a process that leaves, for the events that it still handles
	forgetTimeout = 2 * time.Second        // of a process that stops, for its last write
)

// errLeaving is why the connections of a process end that leaves its shards to others: without a close frame, so that the sessions go on.
var errLeaving = errors.New("other processes receive from now on")

// position is how far a shard has come in its session.
type position struct {
	Session   string `json:"session"` // empty: there is none that can be resumed
	ResumeURL string `json:"resume_url"`
	Sequence  int64  `json:"sequence"` // events up to this one are on disk
	Exact     bool   `json:"exact"`    // no event after it was handled, so nobody has run the commands among them
	Bot       user   `json:"bot"`      // as which the session was started
	App       string `json:"app"`
	Intents   int    `json:"intents"` // which events it has: a resumed session keeps them

	arrived bool // no event after it was handled by the process before, see events.replayed
}

// note notes how far the latest session of the shard has come. Only its goroutine calls it.
func (s *shard) note(latest *session) {
	me := s.events.state.self()
	s.at.Store(&position{
		Session: latest.id, ResumeURL: latest.resumeURL, Sequence: latest.sequence, Bot: me.user, App: me.app, Intents: int(latest.intents),
		arrived: !s.events.replayed,
	})
}

// positions returns how far the shards have come, by their numbers.
func (s *shards) positions() map[int]position {
	all := make(map[int]position)
	for _, one := range s.list() {
		if at := one.at.Load(); at != nil {
			all[one.id] = *at
		}
	}
	return all
}

// saveSoon has keepSaving save the position of a session that has just started.
func (s *shards) saveSoon() {
	select {
	case s.started <- struct{}{}:
	default: // it will
	}
}

// keepSaving writes how far the shards have come, once what they have received is on disk.
func (s *shards) keepSaving(ctx context.Context) {
	saved := make(map[int]position)
	for ctx.Err() == nil {
		select {
		case <-time.After(saveEvery):
		case <-s.started:
		case <-ctx.Done():
			return
		}
		changed := make(map[int]string)
		now := s.positions()
		for id, at := range now {
			if at != saved[id] {
				changed[id] = encode(at)
			}
		}
		if len(changed) == 0 {
			continue
		}
		s.queue.Settle(ctx, "")
		if ctx.Err() != nil {
			return
		}
		if err := s.fleet.Save(ctx, changed); err != nil {
			s.base.Log.Debug("save_sessions_failed", "error", err)
			continue
		}
		saved = now
	}
}

func encode(at position) string {
	text, err := json.Marshal(at)
	if err != nil {
		panic(err) // it has nothing that JSON lacks
	}
	return string(text)
}

// handOver gives up this process's shards. stop ends their connections.
func (s *shards) handOver(ctx context.Context, stop func()) {
	stop()
	s.serving.Wait()
	settling, cancel := context.WithTimeout(ctx, settleTimeout)
	s.queue.Settle(settling, "")
	isExact := settling.Err() == nil
	cancel()
	var sessions map[int]string // nil: what was saved last
	if isExact {
		sessions = s.lastPositions()
	}
	platform.Retry(ctx, platform.Backoff{First: 100 * time.Millisecond, Max: time.Second}, func() (done bool) {
		err := s.fleet.Release(ctx, sessions)
		if err != nil {
			s.base.Log.Debug("release_shards_failed", "error", err)
		}
		return err == nil
	})
	s.base.Log.Info("shards_released")
}

// lastPositions returns what other processes may continue from once this one has handled everything that it received.
func (s *shards) lastPositions() map[int]string {
	all := make(map[int]string)
	for id, at := range s.positions() {
		at.Exact = at.arrived
		all[id] = encode(at)
	}
	return all
}

// forget has the next owners of this process's shards start new sessions: those of this process have ended.
func (s *shards) forget() {
	s.serving.Wait()
	ended := make(map[int]string)
	for id := range s.positions() {
		ended[id] = ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.base.Work.Ctx), forgetTimeout)
	defer cancel()
	if err := s.fleet.Save(ctx, ended); err != nil {
		s.base.Log.Debug("save_sessions_failed", "error", err)
	}
}

// adopt returns the session that another process has left, if there is one to resume.
func (s *shard) adopt(ctx context.Context) *session {
	var at position
	if json.Unmarshal([]byte(s.left), &at) != nil || at.Session == "" || at.App == "" || at.Intents != int(s.intents()) {
		return nil
	}
	replayed := !at.Exact
	if at.Exact { // from now on this process may handle events after it
		at.Exact = false
		replayed = s.fleet.Save(ctx, map[int]string{s.id: encode(at)}) != nil
	}
	if s.events.state.self().app == "" {
		s.events.state.bot.Store(&self{at.Bot, at.App})
	}
	s.events.adopt(replayed)
	adopted := s.prepare(s.address)
	adopted.id = at.Session
	adopted.resumeURL = at.ResumeURL
	adopted.sequence = at.Sequence
	adopted.ready = s.endTry
	return adopted
}
