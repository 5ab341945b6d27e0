// Completion: names, quotes and files that an event leaves out.

package slack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/internal/platform"
)

// unnamed matches a name that was unknown when the message arrived.
var unnamed = regexp.MustCompile(`<([@#])([A-Z0-9]+)>`)

// Complete adds to a message what its event leaves out: names, the quote of a thread's first
// message, the contents of files.
func (s *Slack) Complete(ctx context.Context, conversation string, m channel.Inbound) (channel.Inbound, error) {
	if err := s.await(ctx); err != nil {
		return m, err
	}
	brief, cancel := context.WithTimeout(ctx, s.times.complete)
	defer cancel()
	place := channel.ParsePlace(conversation)
	if m.Author == "" || m.Author == m.AuthorID && !strings.HasPrefix(m.AuthorID, "B") {
		m.Author = s.names.lookUp(brief, m.AuthorID)
	}
	m.Text = s.named(brief, m.Text)
	if !place.Direct() {
		s.names.lookUp(brief, place.Channel) // for the label of the next message
	}
	if m.Quote == "" && m.ReplyTo != "" && m.ReplyTo == place.Thread {
		m.Quote = s.quote(brief, place)
	}
	attachments, err := s.files.Complete(brief, m.Attachments)
	if err != nil { // what is missing stays described
		s.log.Debug("read_file_failed", "error", err)
	}
	m.Attachments = attachments
	m.Incomplete = false
	return m, ctx.Err()
}

// named inserts names that were unknown.
func (s *Slack) named(ctx context.Context, text string) string {
	return unnamed.ReplaceAllStringFunc(text, func(found string) string {
		parts := unnamed.FindStringSubmatch(found)
		return parts[1] + s.names.lookUp(ctx, parts[2])
	})
}

// quoteLength is the most characters of a quoted message.
const quoteLength = 200

// quote returns the beginning of a thread's first message; empty if it cannot be read.
func (s *Slack) quote(ctx context.Context, place channel.Place) string {
	found, _, err := s.page(ctx, place, span{limit: 1})
	if err != nil || len(found) == 0 || found[0].Timestamp != place.Thread {
		return ""
	}
	root := found[0]
	text, _ := s.plainWords(withQuotes(root.Msg))
	text = platform.Short(strings.Join(strings.Fields(s.named(ctx, text)), " "), quoteLength)
	if text == "" {
		return ""
	}
	return fmt.Sprintf("%s: %q", s.speaker(ctx, root.Msg), text)
}

func (s *Slack) speaker(ctx context.Context, m slackgo.Msg) string {
	if s.own(m) {
		return s.self.name
	}
	name, known := s.authorName(m)
	if !known {
		name = s.names.lookUp(ctx, m.User)
	}
	return name
}

// fetch reads at most so many bytes of a file. slack-go sends the token only to Slack and to the
// Web API's own host, and the client follows no redirect to another host.
func (s *Slack) fetch(ctx context.Context, address string, most int) ([]byte, error) {
	var into bytes.Buffer
	err := s.api.read.GetFileContext(platform.AtMost(ctx, most), address, &into)
	if err != nil && !errors.Is(err, platform.ErrTooLong) {
		return nil, err
	}
	return into.Bytes(), nil
}
