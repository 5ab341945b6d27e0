// What commands show of a running bot: context, usage, models, and what it finds by its own settings.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"cairn/channel/report"
	"cairn/memory"
	"cairn/web"
)

// context returns what cairn context shows.
func (bot *otherBot) context(ctx context.Context, typed string) (now report.Context, err error) {
	name, err := bot.find(ctx, typed)
	if err != nil {
		return now, err
	}
	now, err = aboutConversation[report.Context](ctx, bot, name, "", typed)
	if err != nil {
		return now, err
	}
	spent, err := aboutConversation[report.Spending](ctx, bot, name, "/usage", typed)
	now.Usage = &spent
	return now, err
}

// usage returns what cairn usage shows; since is what was typed.
func (bot *otherBot) usage(ctx context.Context, since, by string) (report.Usage, error) {
	return fetch[report.Usage](ctx, bot, "/api/usage", given("since", since, "by", by))
}

// models returns the models of the bot's servers. Those may take long.
func (bot *otherBot) models(ctx context.Context) (web.Offered, error) {
	patient := *bot
	patient.within = max(bot.within, listTimeout*maxServers)
	all, err := fetch[web.Offered](ctx, &patient, "/api/models", nil)
	if p, refused := errors.AsType[*web.Problem](err); refused && p.Status == http.StatusUnprocessableEntity { // of the bot's settings
		err = usage(err)
	}
	return all, err
}

// maxServers is how many servers may fail to list their models before a command gives up.
const maxServers = 10

// given returns a query of names and values, without those that are empty.
func given(namesAndValues ...string) url.Values {
	query := url.Values{}
	for i := 0; i < len(namesAndValues); i += 2 {
		if namesAndValues[i+1] != "" {
			query.Set(namesAndValues[i], namesAndValues[i+1])
		}
	}
	return query
}

// search returns the memories that a selection selects.
func (bot *otherBot) search(ctx context.Context, s selection) (all memoryPage, err error) {
	name := ""
	if s.channel != "" {
		name, err = bot.find(ctx, s.channel)
		if err != nil {
			return all, err
		}
	}
	query := given("q", s.Query, "conversation", name, "kind", s.Kind, "about", s.About, "since", s.since, "until", s.until, "state", s.State, "sort", s.Sort)
	for len(all.memories) < s.Limit {
		query.Set("offset", strconv.Itoa(s.Offset+len(all.memories)))
		query.Set("limit", strconv.Itoa(min(s.Limit-len(all.memories), maxPlaces)))
		page, err := fetch[web.MemoryList](ctx, bot, "/api/memories", query)
		if err != nil {
			return all, bot.notFound(ctx, err, "channel "+s.channel)
		}
		all.memories = append(all.memories, page.Memories...)
		all.total = page.Total
		if len(page.Memories) == 0 || s.Offset+len(all.memories) >= all.total {
			break
		}
	}
	return all, nil
}

// recall returns what cairn recall shows.
func (bot *otherBot) recall(ctx context.Context, l recallQuery, question string) (f findings, err error) {
	f.in, err = bot.find(ctx, l.channel)
	if err != nil {
		return f, err
	}
	query := given("q", question, "conversation", f.in, "by", l.by, "since", l.since, "until", l.until, "order", l.order, "as", l.asker, "kind", l.kind,
		"explain", "true", "limit", strconv.Itoa(l.limit))
	found, err := fetch[web.Recalled](ctx, bot, "/api/recall", query)
	if err != nil {
		return f, bot.notFound(ctx, err, "channel "+cmp.Or(l.channel, defaultChannel))
	}
	f.memories = found.Memories
	for _, m := range found.Messages {
		f.messages = append(f.messages, said{m.Score, m.Parts, m.Record, m.Match})
	}
	return f, nil
}

// memory returns a memory.
func (bot *otherBot) memory(ctx context.Context, id int64) (memory.Details, error) {
	return fetch[memory.Details](ctx, bot, memoryAt(id), nil)
}

func memoryAt(id int64) string { return fmt.Sprint("/api/memories/", id) }

// change changes a memory; without a body it deletes it.
func (bot *otherBot) change(ctx context.Context, id int64, body map[string]any) error {
	method := http.MethodPatch
	if body == nil {
		method = http.MethodDelete
		_, err := call[struct{}](ctx, bot, method, memoryAt(id), nil, nil)
		return err
	}
	_, err := call[memory.Details](ctx, bot, method, memoryAt(id), nil, body)
	return err
}
