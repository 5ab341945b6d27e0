// Completion of messages with the names, quotes and files that events leave out.

package slack

import (
	"bytes"
	"context"
	"regexp"
	"strings"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/internal/platform"
)

// unresolvedName matches the id of a name that was not cached when the message arrived.
var unresolvedName = regexp.MustCompile(`<([@#])([A-Z0-9]+)>`)

// Complete adds what the event of a message leaves out: names, a quote of the message at the top of
// its thread, and the contents of files.
func (s *Slack) Complete(ctx context.Context, conversation string, m channel.Inbound) (channel.Inbound, error) {
	if err := s.tasks.Wait(ctx); err != nil {
		return m, err
	}
	limited, cancel := context.WithTimeout(ctx, s.times.complete)
	defer cancel()
	place := channel.ParsePlace(conversation)
	if m.Author == "" || m.Author == m.AuthorID && !strings.HasPrefix(m.AuthorID, "B") {
		m.Author = s.names.lookup(limited, m.AuthorID)
	}
	m.Text = s.resolveNames(limited, m.Text)
	if !place.Direct() {
		s.names.lookup(limited, place.Channel)
	}
	if m.Author != m.AuthorID {
		m.Label = s.label(place, m.Author)
	}
	if m.Quote == "" && m.ReplyTo != "" && m.ReplyTo == place.Thread {
		m.Quote = s.quote(limited, place)
	}
	attachments, err := s.files.Complete(limited, m.Attachments)
	if err != nil { // files without contents stay described
		s.log.Debug("read_file_failed", "error", err)
	}
	m.Attachments = attachments
	m.Incomplete = false
	return m, ctx.Err()
}

// resolveNames replaces the ids that plainText left with names.
func (s *Slack) resolveNames(ctx context.Context, text string) string {
	return unresolvedName.ReplaceAllStringFunc(text, func(found string) string {
		parts := unresolvedName.FindStringSubmatch(found)
		return parts[1] + s.names.lookup(ctx, parts[2])
	})
}

// quote returns what a reply to the message at the top of a thread quotes; empty if that cannot be
// read.
func (s *Slack) quote(ctx context.Context, place channel.Place) string {
	found, _, err := s.page(ctx, place, span{limit: 1})
	if err != nil || len(found) == 0 || found[0].Timestamp != place.Thread || found[0].SubType == "tombstone" {
		return ""
	}
	root := found[0]
	text, _ := s.plainText(withForwarded(root.Msg))
	file := ""
	if files := attachments(root.Files); len(files) > 0 {
		file = files[0].Name
	}
	return platform.Quote(s.authorOf(ctx, root.Msg), s.resolveNames(ctx, text), file)
}

func (s *Slack) authorOf(ctx context.Context, m slackgo.Msg) string {
	if s.isOwn(m) {
		return s.self.name
	}
	name, known := s.authorName(m)
	if !known {
		name = s.names.lookup(ctx, m.User)
	}
	return name
}

// fetch reads at most limit bytes of a file. slack-go sends the token only to Slack and to the Web
// API's host, and the client follows no redirect to another host.
func (s *Slack) fetch(ctx context.Context, address string, limit int) ([]byte, error) {
	var into bytes.Buffer
	err := s.api.read.GetFileContext(platform.AtMost(ctx, limit), address, &into)
	if err != nil && !platform.TooLong(err) {
		return nil, err
	}
	return into.Bytes(), nil
}
