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

// searchesEverywhere reports whether people may search other conversations from the place.
func (s *site) searchesEverywhere() bool {
	_, knows := s.connector.(Reader)
	return knows && chat.ParsePlace(s.name).Direct() && s.access.Rules().SearchesFrom(s.name)
}

// searchEverywhere returns the messages that answer a question of a person, in conversations of the connector that they may read
// now. checked is false if some were left out because the platform did not answer.
func (s *site) searchEverywhere(ctx context.Context, person string, q memory.Question) (found []memory.FoundElsewhere, checked bool, err error) {
	if !s.searchesEverywhere() || person == "" {
		return nil, false, sentences.NewProblem("I can search other conversations only in a direct message on Discord or Slack, unless my owner has switched that off.")
	}
	in, checked, err := s.readableBy(ctx, person)
	if err != nil {
		return nil, false, err
	}
	found, err = memory.RecallFrom(ctx, s.o.Store, in, q)
	return found, checked, err
}

// readableBy returns the conversation itself and the others that a person may read, those with the newest messages first. checked is
// false if the platform did not answer for some.
func (s *site) readableBy(ctx context.Context, person string) (in []*store.Conversation, checked bool, err error) {
	prefix := connectorOf(s.name) + ":"
	places, _, err := s.o.Store.Places(ctx, prefix, searchable, 0)
	if err != nil {
		return nil, false, err
	}
	rules := s.access.Rules()
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
		c, err := s.o.Store.Find(ctx, name)
		if err != nil {
			return nil, false, err
		}
		in = append(in, c)
	}
	return in, failed == nil, nil
}

// everywhereForModel is searchEverywhere for the tool of a model, whose question is that of the person who wrote in the turn.
func (s *site) everywhereForModel(turn func() int64) memory.Everywhere {
	if !s.searchesEverywhere() {
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
		return s.searchEverywhere(ctx, person, q)
	}
}

func (h commandHost) Everywhere(ctx context.Context, who access.Person, q memory.Question) (found []command.Elsewhere, checked bool, err error) {
	all, checked, err := h.c.searchEverywhere(ctx, who.ID, q)
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
