package main

import (
	"context"
	"fmt"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/store"
)

// keeper stores turns as the bot does, in a database of its own and without a bot: what that
// costs, everybody pays who keeps what is said.
type keeper struct {
	store *store.Store
	n     int64 // turns so far
}

// keep stores one turn, in the five transactions in which the bot does: delivered, taken up,
// answered, being sent, sent.
func (k *keeper) keep(ctx context.Context, conversation, question, answer string) error {
	k.n++
	conv, err := k.store.Conversation(ctx, conversation)
	if err != nil {
		return err
	}
	id, reply := fmt.Sprint("m", k.n), fmt.Sprint("reply-", k.n)
	in := store.Inbound{ID: id, AuthorID: "1", Author: "Ada", Text: question, Time: time.Now(), Addressed: true}
	if _, err := conv.Inbox().Deliver(ctx, in); err != nil {
		return err
	}
	taken, err := conv.Inbox().TakeUp(ctx, store.All, fullWindow, time.Time{})
	if err != nil {
		return err
	}
	seq := taken[0].Seq
	said := chat.Message{Seq: seq + 1, Turn: seq, ID: reply, Role: llm.RoleAssistant, Text: answer, Time: time.Now()}
	said.Tokens = chat.TokensOf(said)
	if err := conv.Turns().Finish(ctx, store.Outcome{Turn: seq, Messages: []chat.Message{said}, Reply: reply, To: []string{id}, Pieces: []string{answer}}); err != nil {
		return err
	}
	if err := conv.Outbox().Sending(ctx, k.n); err != nil { // each reply has one piece, and these are numbered
		return err
	}
	return conv.Outbox().Sent(ctx, k.n, fmt.Sprint("p", k.n))
}
