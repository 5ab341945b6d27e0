// Messages are completed with the names, quotes and files that events leave out.

package slack

import (
	"context"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// Complete adds what an event leaves out: names, a quote of the message at the top of the thread, and contents of files.
func (s *Slack) Complete(ctx context.Context, conversation string, m channel.Inbound) (channel.Inbound, error) {
	if err := s.Work.Wait(ctx); err != nil {
		return m, err
	}
	limited, cancel := context.WithTimeout(ctx, s.times.complete)
	defer cancel()
	awaited := limited // nobody waits for what is overheard, unless somebody asks something after it
	heard := ctx
	if !m.Addressed {
		awaited = background(limited, channel.Awaited(ctx))
		limited = background(limited, nil)
		heard = background(ctx, channel.Awaited(ctx))
	}
	place := chat.ParsePlace(conversation)
	if isNameless(m) {
		m.Author = s.names.lookUp(limited, m.AuthorID)
	}
	m.Text = s.names.resolveNames(limited, m.Text)
	if !place.Direct() { // nobody waits for the name of a channel: a later message brings it
		s.names.lookUp(background(limited, nil), place.Channel)
	}
	if m.Author != m.AuthorID {
		m.Label = s.names.label(place, m.Author)
	}
	if m.Quote == "" && m.ReplyTo != "" && m.ReplyTo == place.Thread {
		m.Quote = s.quote(awaited, place)
	}
	var err error
	m.Attachments, err = s.files.Complete(limited, m.Attachments)
	if err != nil { // files without contents stay described
		s.Log.Debug("read_file_failed", "error", err)
	}
	m.Attachments = s.files.Extract(heard, conversation, m)
	m.Incomplete = false
	return m, ctx.Err()
}

// quote returns what a reply to the message at the top of a thread quotes; empty if that cannot be read.
func (s *Slack) quote(ctx context.Context, place chat.Place) string {
	found, err := s.history.page(ctx, place, span{Limit: 1})
	if err != nil || len(found.messages) == 0 {
		return ""
	}
	root := found.messages[0]
	if root.TS != place.Thread || root.SubType == "tombstone" {
		return ""
	}
	file := ""
	if len(root.Files) > 0 {
		file = attachments(root.Files)[0].Name
	}
	name := s.names.authorOf(root)
	if name == root.User {
		name = s.names.lookUp(ctx, root.User)
	}
	return platform.Quote(name, s.names.resolveNames(ctx, s.names.plainText(withForwarded(root))), file)
}
