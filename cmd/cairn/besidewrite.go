// What commands change beside a running bot: imports and deletions, which the bot carries out.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"cairn/channel"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/web"
)

// patient returns the bot without a limit for answers, after it has answered once.
func (bot *otherBot) patient(ctx context.Context) (*otherBot, error) {
	_, err := fetch[web.Bot](ctx, bot, "/api/bot", nil)
	return &otherBot{remoteBot: bot.remoteBot}, err
}

// refusedWith reports whether the bot refused a request with a status.
func refusedWith(err error, status int) bool {
	p, refused := errors.AsType[*web.Problem](err)
	return refused && p.Status == status
}

// partBytes is how many bytes a part of an import may have, unless one message has more.
const partBytes = 512 << 10

// partsOf divides an import into requests.
func partsOf(past []channel.Inbound) (parts []web.ImportPart, err error) {
	var part web.ImportPart
	size := 0
	for _, m := range past {
		one := web.Recorded{ID: m.ID, Time: m.Time, Author: m.Author, Text: m.Text, Attachments: m.Attachments}
		text, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		if len(part.Messages) == channel.ImportBatch || size > 0 && size+len(text) > partBytes {
			parts = append(parts, part)
			part = web.ImportPart{}
			size = 0
		}
		part.Messages = append(part.Messages, one)
		size += len(text)
	}
	return append(parts, part), nil
}

// pollEvery is how often an import looks how far the bot is.
const pollEvery = 300 * time.Millisecond

// importMessages is Hub.Import by a running bot. When it ends early, the bot goes on with what it has.
func (bot *otherBot) importMessages(ctx context.Context, conversation string, past []channel.Inbound, progress func(channel.ImportProgress)) (imported int, err error) {
	parts, err := partsOf(past)
	if err != nil {
		return 0, err
	}
	path := conversationAt(conversation, "/import")
	for _, part := range parts {
		part.Check = true
		if _, err := call[web.ImportStored](ctx, bot, http.MethodPost, path, nil, part); err != nil {
			return 0, importRefused(err)
		}
	}
	now := channel.ImportProgress{Total: len(past)}
	for _, part := range parts {
		stored, err := call[web.ImportStored](ctx, bot, http.MethodPost, path, nil, part)
		if err != nil {
			return imported, importRefused(err)
		}
		imported += stored.Imported
		now.Stored += len(part.Messages)
		progress(now)
	}
	for {
		state, err := fetch[web.ImportState](ctx, bot, path, nil)
		if err != nil {
			return imported, err
		}
		now.Unread = state.Unread
		progress(now)
		if state.Done {
			return imported, nil
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return imported, ctx.Err()
		}
	}
}

// importRefused returns the error of Hub.Import for a refused part.
func importRefused(err error) error {
	if refusedWith(err, http.StatusConflict) {
		return store.ErrLive
	}
	if which, other := strings.CutPrefix(strings.TrimSuffix(err.Error(), "."), store.ErrOtherMessage.Error()); other {
		return fmt.Errorf("%w%s", store.ErrOtherMessage, which)
	}
	return err
}

// importMemories is memory.Memories.Import by a running bot.
func (bot *otherBot) importMemories(ctx context.Context, all []memory.Exported) (n memory.ImportResult, err error) {
	body := web.ImportedMemories{Memories: all}
	text, err := json.Marshal(body)
	if err != nil {
		return n, err
	}
	if len(text) >= web.MaxImportBody {
		return n, usage(fmt.Errorf("the file has more than %d MB, which a running bot does not accept: divide it, or stop the bot", web.MaxImportBody>>20))
	}
	patient, err := bot.patient(ctx)
	if err != nil {
		return n, err
	}
	return call[memory.ImportResult](ctx, patient, http.MethodPost, "/api/memories/import", nil, body)
}

// purgeBeside is purge by a running bot.
func (a *app) purgeBeside(ctx context.Context, bot *otherBot, p purge, of privacy.Selection) error {
	plan, err := fetch[web.Purged](ctx, bot, "/api/purge", given("user", of.User, "conversation", of.Conversation, "server", of.Server))
	switch {
	case errors.Is(err, store.ErrNotFound) && of.User != "":
		return fmt.Errorf("%q: %w: no one with that id or name has messages here", of.User, store.ErrNotFound)
	case refusedWith(err, http.StatusConflict): // several people
		return usage(err)
	case err != nil:
		return bot.notFound(ctx, err, of.Conversation+of.Server)
	case p.dryRun:
		return a.show(a.out, purged{Purged: plan})
	}
	if err := a.confirm(ctx, purged{Purged: plan}, p.yes); err != nil {
		return err
	}
	patient, err := bot.patient(ctx)
	if err != nil {
		return err
	}
	plan, err = call[web.Purged](ctx, patient, http.MethodPost, "/api/purge", nil, web.Selected(of))
	if err != nil {
		return fmt.Errorf("perhaps not everything is deleted; the same command continues: %w", err)
	}
	if err := a.forgetTyped(plan); err != nil {
		return err
	}
	fmt.Fprintln(a.err, "the bot removes it from its files and their backups within 24 hours")
	return a.show(a.out, purged{Purged: plan})
}
