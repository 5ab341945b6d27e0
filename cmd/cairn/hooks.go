// The events passed to hooks, and how the bot calls them.

package main

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"cairn/channel"
	"cairn/compactor"
	"cairn/hooks"
)

// proposedEvent is the event passed to before_compaction.
type proposedEvent struct {
	Conversation string `json:"conversation"`
	Trigger      string `json:"trigger"`
	Kind         string `json:"kind"`
	From         int64  `json:"from_seq"`
	To           int64  `json:"to_seq"`
	Messages     int    `json:"messages"`
	Tokens       int    `json:"tokens"` // estimate for the span to summarize; 0: not known yet
	Used         int    `json:"used_tokens"`
	Window       int    `json:"max_tokens"`
	Focus        string `json:"focus"`
}

// endedEvent is the event passed to after_compaction.
type endedEvent struct {
	Conversation string `json:"conversation"`
	ID           int64  `json:"id"`
	State        string `json:"state"` // applied or failed
	Trigger      string `json:"trigger"`
	Kind         string `json:"kind"`
	By           string `json:"by"`
	From         int64  `json:"from_seq"`
	To           int64  `json:"to_seq"`
	Messages     int    `json:"messages"`
	Before       int    `json:"before_tokens"`
	After        int    `json:"after_tokens"`
	Window       int    `json:"max_tokens"`
	Error        string `json:"error,omitempty"`
	Summary      string `json:"summary,omitempty"`
	Path         string `json:"path"` // path of the summary in the HTTP API, with its messages
}

type memoryEvent struct {
	Conversation string `json:"conversation"`
	ID           int64  `json:"id"`
	Kind         string `json:"kind"`
	Content      string `json:"content"`
}

type replyEvent struct {
	Conversation string   `json:"conversation"`
	To           []string `json:"to"` // platform ids of the messages that are answered
	Text         string   `json:"text"`
	Failure      bool     `json:"failure"` // the text reports a failure and is not the model's
}

// propose asks the hook that is called before a compaction.
func (b *bot) propose(ctx context.Context, conversation string, p compactor.Proposal) (focus string, err error) {
	v := b.hooks.Ask(ctx, hooks.Before, proposedEvent{
		Conversation: conversation, Trigger: string(p.Trigger), Kind: string(p.Kind), From: p.From, To: p.To, Messages: p.Messages,
		Tokens: p.Tokens, Used: p.BeforeTokens, Window: p.Window, Focus: p.Focus,
	})
	if v.Veto {
		return "", errors.New(v.Reason)
	}
	return v.Focus, nil
}

func (b *bot) replied(conversation string, to []string, text string, failure bool) {
	b.hooks.Tell(hooks.OnReply, replyEvent{conversation, to, text, failure})
}

func ended(conversation string, e channel.Event) endedEvent {
	id := e.ID
	if id == 0 && len(e.Set) > 0 {
		id = e.Set[0].ID
	}
	one := endedEvent{
		Conversation: conversation, ID: id, State: string(e.State), Trigger: string(e.Trigger), Kind: string(e.Kind), By: string(e.By),
		From: e.From, To: e.To, Messages: e.Messages, Before: e.BeforeTokens, After: e.AfterTokens, Window: e.Window, Error: e.Error, Summary: e.Summary,
	}
	one.Path = "/api/conversations/" + url.PathEscape(conversation) + "/summaries"
	if id > 0 {
		one.Path += "/" + strconv.FormatInt(id, 10)
	}
	return one
}
