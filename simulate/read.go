package simulate

import (
	"context"
	"slices"
	"strings"
	"time"

	"cairn/channel"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
)

// importedAfter is the minimum delay between a message's time and its storage in an import.
const importedAfter = time.Hour

// Read reads a conversation of the database as a recording. It writes nothing.
func Read(ctx context.Context, c *store.Conversation) (Recording, error) {
	rec := Recording{Name: c.Name()}
	said, err := c.Transcript().Recorded(ctx)
	if err != nil {
		return rec, err
	}
	for _, m := range said {
		if m.Seq == rec.Imported+1 && m.Role == llm.RoleUser && !m.Addressed && m.Saved.Sub(m.Time) > importedAfter {
			rec.Imported = m.Seq
		}
	}
	rec.Messages = said
	turns, err := c.Turns().Usages(ctx, time.Time{}, 0, 0)
	if err != nil {
		return rec, err
	}
	rec.Requests = make(map[int64]compactor.Sent, len(turns))
	for _, t := range turns {
		rec.Requests[t.Seq] = t.Sent
	}
	rec.Summaries, rec.Sessions, err = c.Compactions().Recorded(ctx)
	return rec, err
}

// FromFile makes a recording of messages that were never in a conversation: those by bot are the
// bot's answers to the message before them. If bot is "" there are no answers, and all messages
// count as imported.
func FromFile(name string, said []store.Inbound, bot string) Recording {
	rec := Recording{Name: name}
	seen := map[string]int64{}
	for _, in := range said {
		if seen[in.ID] > 0 {
			continue
		}
		m := chat.Message{
			Seq: int64(len(rec.Messages) + 1), ID: in.ID, Role: llm.RoleUser, AuthorID: in.AuthorID, Author: in.Author,
			Text: in.Text, Attachments: in.Attachments, Time: in.Time,
		}
		m.Turn = m.Seq
		seen[in.ID] = m.Seq
		if n := len(rec.Messages); bot != "" && strings.EqualFold(in.Author, bot) && n > 0 {
			before := &rec.Messages[n-1]
			if before.Role == llm.RoleUser {
				before.Addressed = true
			}
			m.Role, m.Author, m.AuthorID, m.Turn = llm.RoleAssistant, "", "", before.Turn
		}
		m.Tokens = chat.TokensOf(m)
		rec.Messages = append(rec.Messages, Message{Message: m, Saved: m.Time})
	}
	if bot == "" {
		rec.Imported = int64(len(rec.Messages))
	}
	return rec
}

// HasBot reports whether a person of that name speaks in a recording.
func HasBot(said []store.Inbound, bot string) bool {
	return slices.ContainsFunc(said, func(in store.Inbound) bool { return strings.EqualFold(in.Author, bot) })
}

// OptionsOf returns the options for an agent, with its models' prices.
func OptionsOf(ctx context.Context, agent channel.Agent, policy compactor.Policy, list prices.List) Options {
	o := Options{Engine: agent.Engine(ctx), Policy: policy, Cache: llm.CachePrefix}
	if c, ok := agent.Model.(llm.Cacher); ok {
		o.Cache = c.CacheRule()
	}
	o.Turns, o.Worker = priceOf(list, agent.Model), priceOf(list, agent.Worker)
	return o
}

func priceOf(list prices.List, model llm.Model) *prices.Price {
	if model == nil {
		return nil
	}
	if p, known := list.Of(model.Name()); known {
		return &p
	}
	return nil
}
