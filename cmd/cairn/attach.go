// cairn attach: follow a conversation live.

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/chat"
	"cairn/compactor"
	"cairn/connector/terminal"
	"cairn/store"
	"cairn/web"
)

// maxShownBefore limits -n, as the API limits a page.
const maxShownBefore = 200

func newAttach(a *app) *cobra.Command {
	before := 10
	cmd := a.withJSON("one JSON object per line", &cobra.Command{
		Use:   "attach NAME [-n COUNT] [--json]",
		Short: "Follow a channel live",
		Long: `Print the newest messages of a channel, of Discord, Slack, the browser or a terminal, and then each
message and answer as the bot stores it, until Ctrl-C. A line marks each compaction. Needs a running
bot; to talk in a channel of the terminal, use cairn chat.`,
		Example: `  cairn attach discord:1/2
  cairn attach general --json | jq -r .text`,
		Args: args(1, 1),
		RunE: func(cmd *cobra.Command, names []string) error { return a.attach(cmd.Context(), names[0], before) },
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return a.runningNames(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
		},
	})
	cmd.Flags().IntVarP(&before, "count", "n", before, "print this `COUNT` of earlier messages, at most 200")
	return cmd
}

// runningNames returns the names of the conversations of the running bot, for completion.
func (a *app) runningNames(ctx context.Context) (names []string) {
	if a.load() != nil {
		return nil
	}
	bot, err := a.findRunning(ctx)
	if bot == nil || err != nil {
		return nil
	}
	text, err := bot.api()(ctx, http.MethodGet, "/api/conversations", url.Values{"limit": {"200"}}, nil)
	var list struct{ Conversations []struct{ Channel string } }
	if err != nil || json.Unmarshal(text, &list) != nil {
		return nil
	}
	for _, c := range list.Conversations {
		names = append(names, strings.TrimPrefix(c.Channel, terminal.Name+":"))
	}
	return names
}

// follower prints what a conversation says.
type follower struct {
	app  *app
	name string
	seq  int64 // of the newest message that was printed
}

func (a *app) attach(ctx context.Context, name string, before int) error {
	if before < 0 || before > maxShownBefore {
		return usage(fmt.Errorf("-n %d: must be from 0 to %d", before, maxShownBefore))
	}
	name, err := conversationName(name)
	if err != nil {
		return err
	}
	f := &follower{app: a, name: name}
	bot, err := a.findRunning(ctx)
	if err != nil {
		return err
	}
	if bot == nil {
		return errors.New("no bot runs here: start it with `cairn run` or `cairn chat`; `cairn transcript` prints what is stored")
	}
	if err := f.begin(ctx, bot, before); err != nil {
		return err
	}
	if short, ours := strings.CutPrefix(name, terminal.Name+":"); ours {
		fmt.Fprintf(a.err, "following; `cairn chat --channel %s` talks here\n", short)
	}
	for {
		err := f.follow(ctx, bot)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, web.ErrLost) {
			return err
		}
		fmt.Fprintln(a.err, "the bot has ended or does not answer; waiting for it")
		bot, err = awaitBot(ctx, a)
		if err != nil {
			return err
		}
	}
}

// awaitBot returns the bot once it runs again.
func awaitBot(ctx context.Context, a *app) (*otherBot, error) {
	late := time.Now().Add(lostPatience)
	for {
		bot, err := a.findRunning(ctx)
		switch {
		case bot != nil || err != nil:
			return bot, err
		case time.Now().After(late):
			return nil, errors.New("the bot has ended, and none has started since")
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// begin prints the newest messages.
func (f *follower) begin(ctx context.Context, bot *otherBot, before int) error {
	messages, err := f.messages(ctx, bot, url.Values{"limit": {strconv.Itoa(max(before, 1))}})
	if err != nil {
		return err
	}
	if before == 0 && len(messages) > 0 {
		f.seq = messages[len(messages)-1].Seq
		return nil
	}
	return f.print(messages)
}

func (f *follower) messages(ctx context.Context, bot *otherBot, query url.Values) (messages []chat.Record, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	text, err := bot.api()(ctx, http.MethodGet, "/api/conversations/"+url.PathEscape(f.name)+"/messages", query, nil)
	var refused *web.Problem
	switch {
	case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
		return nil, fmt.Errorf("channel %s: %w; cairn channels lists them", f.name, store.ErrNotFound)
	case refused != nil:
		return nil, refused
	case err != nil:
		return nil, fmt.Errorf("%w: %w", web.ErrLost, err)
	}
	var list struct{ Messages []chat.Record }
	err = json.Unmarshal(text, &list)
	return list.Messages, err
}

func (f *follower) print(messages []chat.Record) error {
	for _, m := range messages {
		m = m.Decoded()
		f.seq = m.Seq
		if !f.app.json && m.Empty() {
			continue
		}
		if err := f.app.show(f.app.out, m); err != nil {
			return err
		}
	}
	return nil
}

// lookEvery is how often a follower looks for messages that no event reports: those that the bot only reads.
const lookEvery = 2 * time.Second

// follow prints what is stored until the bot is lost.
func (f *follower) follow(ctx context.Context, bot *otherBot) error {
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan appliedLine)
	ended := make(chan error, 1)
	go func() {
		client := web.Client{Transport: bot.transport, Base: bot.base, Token: bot.token}
		ended <- client.Follow(ctx, f.name, func(kind string, data []byte) {
			select {
			case changed <- appliedIn(kind, data):
			case <-ctx.Done():
			}
		})
	}()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		var line appliedLine
		var lost error
		select {
		case line = <-changed:
		case <-look.C:
		case lost = <-ended:
			ended <- nil
		}
		err := f.printNew(ctx, bot)
		if err == nil && len(line.Compacted) > 0 {
			err = f.app.show(f.app.out, line)
		}
		if lost != nil || err != nil {
			cancel()
			<-ended
			return cmp.Or(err, lost)
		}
	}
}

// printNew prints the messages that were stored since the newest that was printed.
func (f *follower) printNew(ctx context.Context, bot *otherBot) error {
	for {
		messages, err := f.messages(ctx, bot, url.Values{"after": {strconv.FormatInt(f.seq, 10)}, "limit": {strconv.Itoa(maxShownBefore)}})
		if err != nil || len(messages) == 0 {
			return err
		}
		if err := f.print(messages); err != nil {
			return err
		}
	}
}

// appliedIn returns the compaction whose summaries an event puts into the prompt; zero: it is another event.
func appliedIn(kind string, data []byte) (line appliedLine) {
	var e struct {
		compactor.Event
		With []struct{ ID int64 }
		Time time.Time
	}
	if kind != "compaction" || json.Unmarshal(data, &e) != nil || e.State != compactor.EventApplied || len(e.With) > 0 && e.With[0].ID != e.ID {
		return line
	}
	one := store.ListedCompaction{
		ID: e.ID, State: string(compactor.Applied), Trigger: string(e.Trigger), Kind: string(e.Kind), From: e.From, To: e.To, Messages: e.Messages,
		BeforeTokens: e.BeforeTokens, AfterTokens: e.AfterTokens, Time: e.Time, By: string(e.By),
	}
	return appliedLine{[]store.ListedCompaction{one}, e.Time, e.BeforeTokens, e.AfterTokens}
}
