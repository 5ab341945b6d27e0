// Names of people and channels, which Slack's events leave out. One that somebody waits for is looked up alone, the others are
// read in pages that list everybody.

package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/connector/platform"
)

const (
	maxNames      = 50_000
	nameLifetime  = time.Hour       // at most, because people change their names, and events about that may be missing
	peoplePage    = 500             // people per page of the list
	peoplePause   = 2 * time.Minute // between two readings of the list
	lookupTimeout = 5 * time.Second // of one person
)

// names finds out the names of people and channels, and caches them by id. They expire at different times, so that they are not all
// looked up again together.
type names struct {
	self *self
	api  *api
	work *platform.Group
	log  *slog.Logger

	mu      sync.Mutex // guards everything below
	known   map[string]name
	reading chan struct{} // closed at the end of each page of the list of people; nil: it is not being read
	readAt  time.Time     // when it was last read
	renamed time.Time     // when an event last told the bot's name: a list of before has the old one
}

type name struct {
	text  string
	until time.Time
}

func (n *names) set(id, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.setLocked(id, text)
}

func (n *names) setLocked(id, text string) {
	if n.known == nil {
		n.known = make(map[string]name)
	}
	now := time.Now()
	if len(n.known) >= maxNames {
		maps.DeleteFunc(n.known, func(_ string, old name) bool { return now.After(old.until) })
	}
	if _, known := n.known[id]; known || len(n.known) < maxNames {
		n.known[id] = name{text, now.Add(nameLifetime/2 + rand.N(nameLifetime/2))}
	}
}

// find returns the name of an id, and whether it has not expired; "" if it is unknown.
func (n *names) find(id string) (text string, current bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	found := n.known[id]
	return found.text, time.Now().Before(found.until)
}

// rename changes the name of an id, if it is cached.
func (n *names) rename(id, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.known[id]; known && text != "" {
		n.setLocked(id, text)
	}
}

// renames are the types of events about a person or a channel who may have a new name. The first one also comes when somebody's
// status changes: the manifest subscribes to the second one.
var renames = []string{"user_change", "user_profile_changed", "channel_rename", "group_rename"}

// noteRename handles such an event.
func (n *names) noteRename(payload json.RawMessage) {
	var outer struct {
		Event struct {
			User    slackgo.User
			Channel struct{ ID, Name string }
		}
	}
	_ = platform.Decode(payload, &outer) // fields in an unknown form stay empty
	person := outer.Event.User
	called := displayName(person)
	if person.ID == n.self.user && called != "" {
		n.noteOwn(called)
	}
	n.rename(person.ID, called)
	n.rename(outer.Event.Channel.ID, outer.Event.Channel.Name)
}

func (n *names) noteOwn(called string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.renamed = time.Now()
	n.self.renamed.Store(&called)
}

// nameOf returns the name of a person or a channel; empty if it is not cached.
func (n *names) nameOf(id string) string {
	if id == n.self.user {
		return n.self.currentName()
	}
	if text, current := n.find(id); current {
		return text
	}
	return ""
}

// authorOf returns the name of a message's author, or the id if it is not known.
func (n *names) authorOf(m message) string {
	switch {
	case n.self.wrote(m):
		return n.self.currentName()
	case m.Username != "":
		return m.Username
	case (m.User == "" || m.BotID != "") && m.BotProfile.Name != "":
		return m.BotProfile.Name
	}
	return cmp.Or(n.nameOf(m.User), m.User, m.BotID)
}

// lookUp returns the name of a person or a channel from the cache or from Slack; if it cannot be found, the last known one or the id.
func (n *names) lookUp(ctx context.Context, id string) string {
	if found := n.nameOf(id); found != "" {
		return found
	}
	client := n.api.read
	if isBackground(ctx) {
		client = n.api.once
	}
	var found string
	var err error
	isPerson := id == "" || !strings.Contains("CGD", id[:1])
	if isPerson {
		found, _, _, err = lookUpPerson(ctx, client, id)
	} else {
		var c *slackgo.Channel
		c, err = client.GetConversationInfoContext(ctx, &slackgo.GetConversationInfoInput{ChannelID: id})
		if err == nil {
			found = c.Name
		}
	}
	switch _, limited := rateLimit(err); {
	case limited && isPerson && isBackground(ctx): // many are unknown
		found = n.awaitListed(ctx, id)
		fallthrough
	case err != nil && !isRefused(err): // it is looked up again for the next message
		old, _ := n.find(id)
		return cmp.Or(found, old, id)
	}
	found = cmp.Or(found, id)
	n.set(id, found)
	return found
}

// lookUpPerson returns the name of a person, whether they are an admin or owner of the workspace, and whether they are a bot.
func lookUpPerson(ctx context.Context, client *slackgo.Client, id string) (name string, admin, bot bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	u, err := client.GetUserInfoContext(ctx, id)
	if err != nil {
		return "", false, false, err
	}
	return displayName(*u), isAdmin(u), u.IsBot, nil
}

// isAdmin reports whether a person is an admin or owner of the workspace.
func isAdmin(u *slackgo.User) bool { return u.IsAdmin || u.IsOwner || u.IsPrimaryOwner }

func displayName(u slackgo.User) string {
	return cmp.Or(u.Profile.DisplayName, u.RealName, u.Profile.RealName, u.Name)
}

// awaitListed returns the name of a person once the list of people has it; empty if it does not, or if ctx ends or somebody
// waits for an answer in the conversation before that.
func (n *names) awaitListed(ctx context.Context, id string) string {
	for {
		page := n.readPeople()
		if found := n.nameOf(id); found != "" || page == nil {
			return found
		}
		select {
		case <-page:
		case <-channel.Awaited(ctx):
			return ""
		case <-ctx.Done():
			return ""
		}
	}
}

// readPeople has the list of people read in the background, unless that was done lately. It returns a channel that is closed
// at the end of the page that is being read; nil if none is.
func (n *names) readPeople() (page <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.reading == nil && (n.readAt.IsZero() || time.Since(n.readAt) >= peoplePause) && n.work.Start(n.listPeople) {
		n.reading = make(chan struct{})
		n.readAt = time.Now()
	}
	return n.reading
}

// listPeople stores the names of everybody in the workspace.
func (n *names) listPeople(ctx context.Context) {
	list := n.api.read.GetUsersPaginated(slackgo.GetUsersOptionLimit(peoplePage), slackgo.GetUsersOptionIncludeLocale(false))
	more := true
	for more {
		page, err := list.Next(background(ctx, nil))
		if err != nil && ctx.Err() == nil {
			n.log.Debug("list_people_failed", "error", err)
		}
		more = err == nil && page.Cursor != "" && page.Cursor != list.Cursor
		n.pageRead(page.Users, more)
		list = page
	}
}

// pageRead stores the names of a page of the list; more: another page follows.
func (n *names) pageRead(people []slackgo.User, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, u := range people {
		if called := displayName(u); u.ID == n.self.user && called != "" && n.renamed.Before(n.readAt) { // another process may have got the event
			n.self.renamed.Store(&called)
		}
		n.setLocked(u.ID, cmp.Or(displayName(u), u.ID))
	}
	close(n.reading)
	n.reading = nil
	if more {
		n.reading = make(chan struct{})
	}
}
