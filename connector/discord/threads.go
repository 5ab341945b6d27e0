// Threads that the bot opens: the answer to a message that addresses it in a server's channel goes to a thread from that message. Both
// belong to the channel's conversation; what people write there afterwards belongs to the thread's.

package discord

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// ThreadChoices are the values of Options.Threads.
var ThreadChoices = []string{threadsNever, threadsMention}

const (
	threadsNever   = "never"
	threadsMention = "mention"
)

// toOpen are the permissions to open a thread and to write there (Discord, Permissions: Inherited Permissions (Threads)).
const toOpen = bitset(discordgo.PermissionCreatePublicThreads | discordgo.PermissionSendMessagesInThreads)

// threads opens threads.
type threads struct {
	base    *platform.Base
	rest    *rest
	state   *stateCache
	history *history
	on      bool
	refused platform.Cache // channels in which the bot may not open threads
}

// threadPause is how long the bot does not answer where it may write in threads only, after Discord has refused to open one, e.g. because
// too many are active.
const threadPause = time.Minute

// hasThreads reports whether threads can be started from the messages of a channel (Discord, Channel: Start Thread from Message).
func (p place) hasThreads() bool {
	return p.Guild != "" && p.Parent == "" && (p.Type == discordgo.ChannelTypeGuildText || p.Type == discordgo.ChannelTypeGuildNews)
}

// root returns the message from which the answer to messages opens a thread: the newest that asked, or where the bot may write in threads
// only, the newest. Its ID is empty if the answer goes to the channel.
func (t *threads) root(ctx context.Context, conversation string, to []string) (chat.Message, error) {
	at := chat.ParsePlace(conversation)
	if !t.on || at.Direct() || at.Thread != "" || len(to) == 0 || !locate(ctx, t.rest, t.state, at.Channel, at.Server).hasThreads() {
		return chat.Message{}, ctx.Err()
	}
	asked, err := channel.Asked(ctx, t.base.Hub, conversation, to)
	if err == nil && len(asked) == 0 && t.state.cannotWrite(at.Channel, t.base.Clock.Now()) != "" {
		newest := replyTarget(0, to)
		said, _, err := channel.Said(ctx, t.base.Hub, conversation, newest)
		return chat.Message{ID: newest, Text: said}, err
	}
	if err != nil || len(asked) == 0 {
		return chat.Message{}, err
	}
	return slices.MaxFunc(asked, func(a, b chat.Message) int { return byAge(a.ID, b.ID) }), nil
}

// open opens the thread from a message, unless it is there, and returns its id; "" if the answer goes to the channel. fresh: this call
// has opened it. Discord lets a message have one thread, which has its id, so a repetition opens no second one.
func (t *threads) open(ctx context.Context, conversation string, root chat.Message) (id string, fresh bool, err error) {
	above := channelID(conversation)
	can, known := t.state.granted(t.state.place(above))
	if known && can&toOpen != toOpen {
		t.noteRefused(above)
		return t.opened(ctx, conversation, root)
	}
	var p place
	err = t.rest.do(ctx, call{method: http.MethodPost, path: "/channels/" + above + "/messages/" + root.ID + "/threads", body: map[string]string{"name": threadName(root)}, into: &p})
	switch code := refusalIn(err).code; {
	case code == codeHasThread:
		return root.ID, false, nil
	case code == codeNotPermitted:
		t.noteRefused(above)
		return t.opened(ctx, conversation, root)
	case hadNoEffect(err) && refusalIn(err).after == 0:
		t.base.Log.Debug("open_thread_failed", "channel", above, "error", err)
		t.base.NoteWritable(conversation, t.state.cannotWrite(above, t.base.Clock.Now()))
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	if p.ID == root.ID {
		t.state.add(p) // its event may come later
	}
	return root.ID, true, nil
}

// opened returns the thread from a message if an earlier process may have opened it, and it is there; "" if not.
func (t *threads) opened(ctx context.Context, conversation string, root chat.Message) (id string, fresh bool, err error) {
	if root.ID == "" || !t.history.precedes(conversation, root.ID) {
		return "", false, nil
	}
	p := t.state.place(root.ID)
	if p.ID == "" {
		err = t.rest.do(ctx, call{method: http.MethodGet, path: "/channels/" + root.ID, into: &p})
	}
	switch {
	case errors.Is(err, channel.ErrGone):
		return "", false, nil
	case err == nil && p.Parent == channelID(conversation):
		id = root.ID
	}
	return id, false, err
}

// noteRefused logs once that the bot may not open threads in a channel.
func (t *threads) noteRefused(above string) {
	if !t.refused.Seen(above) {
		t.base.Log.Warn("thread_refused", "missing_permissions", "Create Public Threads, Send Messages in Threads", "channel", above)
	}
}

// threadFacts returns what Check reports of the channels where the bot may write, and not open threads.
func (s *stateCache) threadFacts(now time.Time) (facts []string) {
	var labels []string
	s.places.Range(func(_, known any) bool {
		p := known.(place)
		can, computed := s.granted(p)
		if p.hasThreads() && computed && can&toOpen != toOpen && s.cannotWrite(p.ID, now) == "" {
			labels = append(labels, s.label(p.ID))
		}
		return true
	})
	if len(labels) == 0 {
		return nil
	}
	slices.Sort(labels)
	return []string{"warning: the bot opens no threads in " + platform.Short(strings.Join(labels, ", "), 300) +
		", and answers in the channel: there it lacks the permission Create Public Threads, or Send Messages in Threads"}
}

const maxThreadName = 60 // characters; Discord accepts 100

// threadName returns the beginning of a message as the name of its thread.
func threadName(root chat.Message) string {
	first, _, _ := strings.Cut(strings.TrimSpace(root.Text), "\n")
	return platform.Short(cmp.Or(strings.Join(strings.Fields(first), " "), root.Author, "…"), maxThreadName)
}

// followsAnswer reports whether an unaddressed message counts as addressed: it is the first in a thread that the bot has opened, under an
// answer. After it the hub knows the thread, and people can tell the bot to stop.
func (t *translator) followsAnswer(m message, p place, me self) bool {
	if p.Guild == "" || p.Parent == "" || t.state.place(m.ChannelID).Owner != me.ID {
		return false
	}
	return channel.FirstInThread(t.base.Work.Ctx, t.base.Hub, place{ID: m.ChannelID, Guild: p.Guild, Parent: p.Parent}.conversation(), m.ID)
}
