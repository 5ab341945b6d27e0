// Threads: begun by people and by the bot, archived, joined.
package discordtest

import (
	"net/http"
	"time"
)

// ThreadMetadata is what only threads have.
type ThreadMetadata struct {
	Archived    bool      `json:"archived"`
	Locked      bool      `json:"locked"`
	AutoArchive int       `json:"auto_archive_duration"`
	ArchivedAt  time.Time `json:"archive_timestamp"`
}

// Thread adds a public thread under a channel, begun by a user.
func (s *Server) Thread(parent, user, name string) Channel {
	return s.addChannel("THREAD_CREATE", func(w *world) *Channel { return w.newThread(w.channel(parent), user, name) })
}

// ThreadAt adds a public thread begun by a user at a message, whose id it gets
// (Discord, Channel: Start Thread from Message).
func (s *Server) ThreadAt(channel, message, user, name string) Channel {
	return s.addChannel("THREAD_CREATE", func(w *world) *Channel {
		parent, m := w.message(channel, message)
		c := w.newThread(parent, user, name)
		c.ID = m.ID
		return c
	})
}

// Archive archives a thread. A message brings it back, unless it is locked
// (Discord, Threads: Active & Archived Threads).
func (s *Server) Archive(thread string, locked bool) {
	s.do(func(w *world) { w.archive(w.channel(thread), true, locked) })
}

func (w *world) archive(c *Channel, archived, locked bool) {
	if c.Thread == nil {
		panic("discordtest: not a thread: " + c.ID)
	}
	c.Thread = &ThreadMetadata{Archived: archived, Locked: locked, AutoArchive: c.Thread.AutoArchive, ArchivedAt: time.Now().UTC()}
	if w.may(c, PermissionViewChannel) {
		w.dispatch(event{name: "THREAD_UPDATE", intent: IntentGuilds, data: *c})
	}
}

func (w *world) newThread(parent *Channel, user, name string) *Channel {
	meta := &ThreadMetadata{AutoArchive: 4320, ArchivedAt: time.Now().UTC()}
	return &Channel{Type: PublicThread, GuildID: parent.GuildID, ParentID: parent.ID, OwnerID: user, Name: name, Thread: meta}
}

// newThreadEvent is the payload of THREAD_CREATE (Discord, Gateway Events: Thread
// Create).
type newThreadEvent struct {
	Channel
	New bool `json:"newly_created"`
}

// writable refuses what a thread's state forbids (Discord, Threads: Locked
// Threads; Opcodes and Status Codes: JSON Error Codes).
func (c *Channel) writable(edit bool) error {
	switch {
	case c.Thread != nil && c.Thread.Locked:
		return &apiError{status: http.StatusBadRequest, code: 160005, message: "Thread is locked"}
	case c.Thread != nil && c.Thread.Archived && edit:
		return &apiError{status: http.StatusBadRequest, code: 50083, message: "Thread is archived"}
	}
	return nil
}

func (w *world) joinThread(q query) (any, error) {
	c, err := w.channelOf(q)
	if err == nil && c.Thread == nil {
		err = &apiError{status: http.StatusBadRequest, code: 50024, message: "Cannot execute action on this channel type"}
	}
	return nil, err
}

// createThread: a thread begun at a message has that message's id (Discord,
// Channel: Start Thread from Message).
func (w *world) createThread(q query) (any, error) {
	parent, err := w.channelOf(q)
	if err != nil {
		return nil, err
	}
	if !w.may(parent, PermissionCreatePublicThreads) {
		return nil, errPermission
	}
	var body struct {
		Name string `json:"name"`
	}
	if err := q.decode(&body); err != nil {
		return nil, err
	}
	if n := len([]rune(body.Name)); n < 1 || n > 100 {
		return nil, invalid("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
	}
	c := w.newThread(parent, w.bot.ID, body.Name)
	if q.PathValue("message") != "" {
		m, err := w.messageOf(q)
		if err != nil {
			return nil, err
		}
		if c.ID = m.ID; w.channels[c.ID] != nil {
			return nil, &apiError{status: http.StatusBadRequest, code: 160004, message: "A thread has already been created for this message"}
		}
	}
	return *w.addChannel("THREAD_CREATE", c), nil
}
