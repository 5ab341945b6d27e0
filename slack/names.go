// Names of people and channels, by id.

package slack

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/internal/platform"
)

// names looks up the names of people and channels and caches them.
type names struct {
	api   *api
	log   *slog.Logger
	cache platform.Cache // by nameKey
}

// nameKey returns the key of a name in the cache, which counts until the end of the hour: people may
// take another one.
func nameKey(id string) string { return id + time.Now().Format("/2006-01-02 15") }

// find returns a cached name.
func (n *names) find(id string) (name string, ok bool) { return n.cache.Find(nameKey(id)) }

func (n *names) note(id, name string) { n.cache.Set(nameKey(id), name) }

// lookupTimeout is how long one lookup may take.
const lookupTimeout = 5 * time.Second

// lookup returns the name of a person or a channel from the cache or from Slack; the id if it cannot be
// found.
func (n *names) lookup(ctx context.Context, id string) string {
	if name, ok := n.find(id); ok {
		return name
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	var name string
	var err error
	if id != "" && (id[0] == 'C' || id[0] == 'G' || id[0] == 'D') {
		var c *slackgo.Channel
		if c, err = n.api.read.GetConversationInfoContext(ctx, &slackgo.GetConversationInfoInput{ChannelID: id}); err == nil {
			name = c.Name
		}
	} else {
		var u *slackgo.User
		if u, err = n.api.read.GetUserInfoContext(ctx, id); err == nil {
			name = nameOf(u)
		}
	}
	if err != nil && !isRefused(err) {
		return id // it is looked up again for the next message
	}
	name = cmp.Or(name, id)
	n.note(id, name)
	return name
}

func nameOf(u *slackgo.User) string {
	return cmp.Or(u.Profile.DisplayName, u.RealName, u.Profile.RealName, u.Name)
}

// label returns the display name of a place, from the cache: that of the author in direct messages;
// empty if unknown.
func (s *Slack) label(place channel.Place, author string) string {
	if place.Direct() {
		return author
	}
	name, _ := s.names.find(place.Channel)
	if name == "" || name == place.Channel { // it could not be looked up
		return ""
	}
	thread := ""
	if place.Thread != "" {
		thread = "thread"
	}
	return channel.Label(thread, name, s.self.workspace)
}

// isAdmin reports whether a person is an admin or owner of the workspace.
func (n *names) isAdmin(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	u, err := n.api.read.GetUserInfoContext(ctx, id)
	if err != nil {
		n.log.Debug("look_up_person_failed", "error", err)
		return false
	}
	n.note(id, nameOf(u))
	return u.IsAdmin || u.IsOwner || u.IsPrimaryOwner
}
