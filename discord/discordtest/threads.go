// Threads: started by people and by the bot, archived, joined.
package discordtest

import (
	"net/http"
	"time"
)

// ThreadMetadata has the fields of threads only.
type ThreadMetadata struct {
	Archived    bool      `json:"archived"`
	Locked      bool      `json:"locked"`
	AutoArchive int       `json:"auto_archive_duration"`
	ArchivedAt  time.Time `json:"archive_timestamp"`
}

// Thread adds a public thread under a channel, started by a user.
func (s *Server) Thread(parent, user, name string) Channel {
	return s.addChannel("THREAD_CREATE", func(w *world) *Channel { return w.newThread(w.channel(parent), user, name) })
}

// Archive archives a thread. A message unarchives it, unless it is locked (Discord, Threads: Active
// & Archived Threads).
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

// writable refuses a change that the thread's state forbids (Discord, Threads: Locked Threads;
// Opcodes and Status Codes: JSON Error Codes).
func (c *Channel) writable(edit bool) {
	if c.Thread == nil {
		return
	}
	refuseIf(c.Thread.Locked, &apiError{status: http.StatusBadRequest, code: 160005, message: "Thread is locked"})
	refuseIf(c.Thread.Archived && edit, &apiError{status: http.StatusBadRequest, code: 50083, message: "Thread is archived"})
}
