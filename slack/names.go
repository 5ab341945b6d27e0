// Names of people and channels; and completion of messages with the names, quotes and files that events leave out.

package slack

import (
	"bytes"
	"cmp"
	"context"
	"regexp"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/internal/platform"
)

// nameKey returns the key of a name in the cache, which counts until the end of the hour: people may take another one.
func nameKey(id string) string { return id + time.Now().Format("/2006-01-02 15") }

// nameOf returns a cached name of a person or a channel.
func (s *Slack) nameOf(id string) (name string, ok bool) { return s.names.Find(nameKey(id)) }

// lookupTimeout is how long one lookup may take.
const lookupTimeout = 5 * time.Second

// lookUp returns the name of a person or a channel from the cache or from Slack; the id if it cannot be found.
func (s *Slack) lookUp(ctx context.Context, id string) string {
	if name, ok := s.nameOf(id); ok {
		return name
	}
	var name string
	var err error
	if id != "" && strings.Contains("CGD", id[:1]) {
		var c *slackgo.Channel
		if c, err = s.api.read.GetConversationInfoContext(ctx, &slackgo.GetConversationInfoInput{ChannelID: id}); err == nil {
			name = c.Name
		}
	} else {
		name, _, err = s.lookUpPerson(ctx, id)
	}
	if err != nil && !isRefused(err) {
		return id // it is looked up again for the next message
	}
	name = cmp.Or(name, id)
	s.names.Set(nameKey(id), name)
	return name
}

// lookUpPerson returns the name of a person, and whether they are an admin or owner of the workspace.
func (s *Slack) lookUpPerson(ctx context.Context, id string) (name string, admin bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	u, err := s.api.read.GetUserInfoContext(ctx, id)
	if err != nil {
		return "", false, err
	}
	return cmp.Or(u.Profile.DisplayName, u.RealName, u.Profile.RealName, u.Name), u.IsAdmin || u.IsOwner || u.IsPrimaryOwner, nil
}

// label returns the display name of a place, from the cache: that of the author in direct messages; empty if unknown.
func (s *Slack) label(place channel.Place, author string) string {
	if place.Direct() {
		return author
	}
	name, _ := s.nameOf(place.Channel)
	switch {
	case name == "" || name == place.Channel: // it could not be looked up
		return ""
	case place.Thread != "":
		return channel.Label("thread", name, s.self.workspace)
	}
	return channel.Label("", name, s.self.workspace)
}

// unresolvedName matches the id of a name that was not cached when the message arrived.
var unresolvedName = regexp.MustCompile(`<([@#])([A-Z0-9]+)>`)

// Complete adds what an event leaves out: names, a quote of the message at the top of the thread, and contents of files.
func (s *Slack) Complete(ctx context.Context, conversation string, m channel.Inbound) (channel.Inbound, error) {
	if err := s.Work.Wait(ctx); err != nil {
		return m, err
	}
	limited, cancel := context.WithTimeout(ctx, s.times.complete)
	defer cancel()
	place := channel.ParsePlace(conversation)
	if m.Author == "" || m.Author == m.AuthorID && !strings.HasPrefix(m.AuthorID, "B") {
		m.Author = s.lookUp(limited, m.AuthorID)
	}
	m.Text = s.resolveNames(limited, m.Text)
	if !place.Direct() {
		s.lookUp(limited, place.Channel)
	}
	if m.Author != m.AuthorID {
		m.Label = s.label(place, m.Author)
	}
	if m.Quote == "" && m.ReplyTo != "" && m.ReplyTo == place.Thread {
		m.Quote = s.quote(limited, place)
	}
	var err error
	if m.Attachments, err = s.files.Complete(limited, m.Attachments); err != nil { // files without contents stay described
		s.Log.Debug("read_file_failed", "error", err)
	}
	m.Incomplete = false
	return m, ctx.Err()
}

// resolveNames replaces the ids that plainText left with names.
func (s *Slack) resolveNames(ctx context.Context, text string) string {
	return unresolvedName.ReplaceAllStringFunc(text, func(found string) string {
		parts := unresolvedName.FindStringSubmatch(found)
		return parts[1] + s.lookUp(ctx, parts[2])
	})
}

// quote returns what a reply to the message at the top of a thread quotes; empty if that cannot be read.
func (s *Slack) quote(ctx context.Context, place channel.Place) string {
	found, _, err := s.page(ctx, place, span{Limit: 1})
	if err != nil || len(found) == 0 || found[0].Timestamp != place.Thread || found[0].SubType == "tombstone" {
		return ""
	}
	root := found[0]
	text, _ := s.plainText(withForwarded(root.Msg))
	file := ""
	if len(root.Files) > 0 {
		file = attachments(root.Files)[0].Name
	}
	name, known := s.authorName(root.Msg)
	if !known {
		name = s.lookUp(ctx, root.User)
	}
	return platform.Quote(name, s.resolveNames(ctx, text), file)
}

// fetch reads at most limit bytes of a file. slack-go and sameHost keep the token from other hosts.
func (s *Slack) fetch(ctx context.Context, address string, limit int) ([]byte, error) {
	var into bytes.Buffer
	err := s.api.read.GetFileContext(platform.AtMost(ctx, limit), address, &into)
	if err != nil && !platform.TooLong(err) {
		return nil, err
	}
	return into.Bytes(), nil
}
