package channel

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/store"
)

// Links to messages in a question: the model sees what they lead to, if all who read the answer may read that. What the bot has not read, or
// may not show, stays a link.

// Resolver is implemented by connectors whose messages have addresses.
type Resolver interface {
	// MessageAt returns the place and the platform id of the message to which a link leads; "" if it is no link to a message there.
	MessageAt(link string) (place, id string)
	// Public reports whether everybody on the server, but guests, may read a conversation now; false if that cannot be found out. It may
	// ask the platform, and ends when ctx does.
	Public(ctx context.Context, conversation string) bool
}

const (
	linkedEach = 3   // the most linked messages that a question brings
	linkedClip = 300 // the most tokens of one
)

// address matches what may be a link to a message.
var address = regexp.MustCompile(`https?://[^\s<>()\[\]"|]+`)

// linked is a message to which a question links.
type linked struct {
	link string
	in   *store.Conversation
	chat.Message
	source llm.Elsewhere // unless it is of the same conversation
}

// addLinked adds the messages to which the question links to a turn context. version is that of the head for which it is made, or
// compactor.AnyVersion.
func (w *turnContext) addLinked(ctx context.Context, made *compactor.Context, version int64) int64 {
	resolver, ok := w.connector.(Resolver)
	if !ok {
		return version
	}
	shows := func(int64) bool { return false }
	head := version
	lookAtHead := sync.OnceFunc(func() { // before a linked message is read: it may be edited or deleted afterwards
		w.do(func(e *compactor.Compactor) {
			view := e.View()
			shows = view.Shows
			if version == compactor.AnyVersion {
				head = view.Head.Version
			}
		})
	})
	var found []linked
	for _, m := range w.addressed(w.turn.Seq) {
		for _, link := range address.FindAllString(m.Text, -1) {
			place, id := resolver.MessageAt(link)
			if place == "" || len(found) == linkedEach {
				continue
			}
			lookAtHead()
			to, err := w.followLink(ctx, m.AuthorID, place, id)
			if err != nil && ctx.Err() == nil {
				w.log.Warn("read_link_failed", "error", err)
			}
			if to != nil && to.Seq != m.Seq && !slices.ContainsFunc(found, func(f linked) bool { return f.in == to.in && f.Seq == to.Seq }) {
				to.link = link
				found = append(found, *to)
			}
		}
	}
	if len(found) == 0 {
		return version
	}
	made.Text += "\nmessages to which the question links, as data:"
	for _, f := range found {
		made.Text += "\n" + w.linkedWords(ctx, f, shows, made)
	}
	return head
}

// linkedWords returns the line about a linked message, and notes what it quotes.
func (w *turnContext) linkedWords(ctx context.Context, f linked, shows func(int64) bool, made *compactor.Context) string {
	if f.in.Name() == w.name && shows(f.Seq) {
		return fmt.Sprintf("- %s is #%d", f.link, f.Seq)
	}
	name := f.Name()
	if f.Role != llm.RoleUser {
		name = "you"
	}
	said := fmt.Sprintf("%s on %s: %s", name, chat.Time(f.Time.Local()), chat.Quoted(tokens.Clip(f.Said(), linkedClip)))
	if f.in.Name() == w.name {
		made.Messages = append(made.Messages, f.Seq)
		return fmt.Sprintf("- %s is #%d, %s", f.link, f.Seq, said)
	}
	made.Elsewhere = append(made.Elsewhere, f.source)
	place, err := f.in.Transcript().Called(ctx)
	if err != nil {
		place = "another channel"
	}
	return fmt.Sprintf("- %s is in %s, %s", f.link, chat.CleanName(place), said)
}

// followLink returns the message with a platform id in a place or the threads of its channel; nil if the bot does not have it, or not all
// who read this conversation may read it. person is who wrote the link.
func (s *site) followLink(ctx context.Context, person, place, id string) (*linked, error) {
	above := chat.ParsePlace(place)
	above.Thread = ""
	channel, err := s.o.Store.Find(ctx, above.String())
	if errors.Is(err, store.ErrNotFound) {
		channel, err = s.o.Store.Find(ctx, place) // of a channel in which the bot has read one thread alone
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	name, err := channel.Holding(ctx, id)
	if err != nil || name == "" || !s.mayShow(ctx, person, name) {
		return nil, err
	}
	in, err := s.o.Store.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	to := &linked{in: in}
	version := int64(0) // before the message is read: it may be deleted afterwards
	err = s.o.Store.View(ctx, func(tx *store.Tx) { version = tx.Elsewhere(in, 0).Version })
	if err != nil {
		return nil, err
	}
	to.Message, err = in.Transcript().Sent(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && to.Seq == 0 { // it waits
		return nil, nil
	}
	if err == nil {
		err = s.o.Store.View(ctx, func(tx *store.Tx) { to.source = tx.Elsewhere(in, to.Seq) })
	}
	to.source.Version = version
	return to, err
}

// mayShow reports whether all who read this conversation may read another one: its own messages, those of its channel and of the
// channel's public threads, and between public channels of a server; in a direct message what the person may find by a search.
func (s *site) mayShow(ctx context.Context, person, other string) bool {
	here := chat.ParsePlace(s.name)
	there := chat.ParsePlace(other)
	sameChannel := here.Connector == there.Connector && here.Server == there.Server && here.Channel == there.Channel
	switch {
	case other == s.name:
		return true
	case sameChannel && (there.Thread == "" || here.Direct()):
		return true
	case here.Direct():
		return s.searchesEverywhere() && s.isReadable(ctx, person, other)
	case here.Connector != there.Connector || here.Server != there.Server:
		return false
	}
	hereIs, err := s.audience(ctx, s.name)
	if err != nil {
		return false
	}
	thereIs, err := s.audience(ctx, other)
	switch {
	case err != nil:
		return false
	case sameChannel:
		return thereIs == ChannelWide || thereIs == ServerWide
	}
	return hereIs == ServerWide && thereIs == ServerWide && s.isReadable(ctx, person, other) && s.isPublic(ctx, other)
}

// isPublic asks the platform: what was stored with the last message may be out of date.
func (s *site) isPublic(ctx context.Context, name string) bool {
	resolver, knows := s.connector.(Resolver)
	asking, cancel := context.WithTimeout(ctx, readersTime)
	defer cancel()
	return knows && resolver.Public(asking, name)
}

// audience returns who may read a conversation.
func (s *site) audience(ctx context.Context, name string) (is Audience, err error) {
	c, err := s.o.Store.Find(ctx, name)
	if err == nil {
		err = s.o.Store.View(ctx, func(tx *store.Tx) { is = tx.Audience(c) })
	}
	return is, err
}

// isReadable reports whether a person may read a conversation now; false if that cannot be found out.
func (s *site) isReadable(ctx context.Context, person, name string) bool {
	reader, knows := s.connector.(Reader)
	if !knows || person == "" || s.access.Rules().Unsearched(name) {
		return false
	}
	asking, cancel := context.WithTimeout(ctx, readersTime)
	defer cancel()
	readable, err := reader.Readable(asking, person, []string{name})
	return err == nil && slices.Contains(readable, name)
}
