// A search from a direct message, through all conversations that its person may read.

package channel

import (
	"context"
	"strings"
	"time"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/memory"
	"cairn/store"
)

const (
	searchable  = 2000             // conversations of which the newest are looked at
	readersTime = 10 * time.Second // for asking the platform who may read them
)

// searcher searches from a place.
type searcher struct {
	env *environment
	site
}

// offered reports whether people may search other conversations from the place.
func (s searcher) offered() bool {
	_, knows := s.connector.(Reader)
	return knows && chat.ParsePlace(s.name).Direct() && s.env.access.Rules().SearchesFrom(s.name)
}

// search returns the messages that answer a question of a person, in conversations of the connector that they may read now. checked is
// false if some were left out because the platform did not answer.
func (s searcher) search(ctx context.Context, person string, q memory.Question) (found []memory.FoundElsewhere, checked bool, err error) {
	if !s.offered() || person == "" {
		return nil, false, sentences.NewProblem("I can search other conversations only in a direct message on Discord or Slack, unless my owner has switched that off.")
	}
	in, checked, err := s.readable(ctx, person)
	if err != nil {
		return nil, false, err
	}
	found, err = memory.RecallFrom(ctx, s.env.o.Store, in, q)
	return found, checked, err
}

// readable returns the conversation itself and the others that a person may read, those with the newest messages first. checked is
// false if the platform did not answer for some.
func (s searcher) readable(ctx context.Context, person string) (in []*store.Conversation, checked bool, err error) {
	prefix := connectorOf(s.name) + ":"
	places, _, err := s.env.o.Store.Places(ctx, prefix, searchable, 0)
	if err != nil {
		return nil, false, err
	}
	rules := s.env.access.Rules()
	var names []string
	for _, p := range places {
		if strings.HasPrefix(p.Channel, prefix) && p.Channel != s.name && !rules.Unsearched(p.Channel) {
			names = append(names, p.Channel)
		}
	}
	asking, cancel := context.WithTimeout(ctx, readersTime)
	defer cancel()
	readable, failed := s.connector.(Reader).Readable(asking, person, names)
	if failed != nil {
		s.log.Warn("readers_unknown", "error", failed)
	}
	for _, name := range append([]string{s.name}, readable...) {
		c, err := s.env.o.Store.Find(ctx, name)
		if err != nil {
			return nil, false, err
		}
		in = append(in, c)
	}
	return in, failed == nil, nil
}

// forModel is search for the tool of a model, whose question is that of the person who wrote in the turn.
func (s searcher) forModel(turn func() int64) memory.Everywhere {
	if !s.offered() {
		return nil
	}
	return func(ctx context.Context, q memory.Question) (found []memory.FoundElsewhere, checked bool, err error) {
		asked, err := s.records.Turns().Messages(ctx, turn())
		if err != nil {
			return nil, false, err
		}
		person := ""
		for _, m := range asked {
			person = m.AuthorID
		}
		return s.search(ctx, person, q)
	}
}

func (h commandHost) Everywhere(ctx context.Context, who access.Person, q memory.Question) (found []command.Elsewhere, checked bool, err error) {
	all, checked, err := searcher{h.hub.environment, h.c.site}.search(ctx, who.ID, q)
	linker, links := h.c.connector.(Linker)
	for _, f := range all {
		e := command.Elsewhere{Found: f.Found}
		if f.In.Name() != h.c.name && err == nil {
			e.Place, err = f.In.Transcript().Called(ctx)
		}
		if links {
			e.Link = linker.MessageLink(f.In.Name(), f.ID)
		}
		found = append(found, e)
	}
	return found, checked, err
}
