package channel

import (
	"context"
	"errors"
	"slices"
	"time"

	"cairn/store"
)

// taskPoll is how often a waiter checks whether the tasks have ended. A task takes at least one
// model request.
const taskPoll = 100 * time.Millisecond

// DrainTasks returns once the tasks of the matching conversations have ended, including tasks they
// started, and their results are answered. It calls waits once, with the number of open tasks. It
// does not wait for tasks that a pause holds up.
func (o Operator) DrainTasks(ctx context.Context, match func(conversation string) bool, waits func(open int)) error {
	var before []string // unfinished since no task has been open
	for announced := false; ; {
		open, err := o.openTasks(ctx, match)
		if err != nil {
			return err
		}
		if len(open) > 0 {
			if !announced {
				waits(len(open))
			}
			announced, before = true, nil
			select {
			case <-time.After(taskPoll):
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		unfinished, err := o.hub.wakeUnfinished(ctx, match)
		if err != nil || len(unfinished) == 0 || slices.Equal(unfinished, before) { // what is left cannot be done now
			return err
		}
		if err := o.hub.Drain(ctx); err != nil {
			return err
		}
		before = unfinished // an answer may have started more tasks
	}
}

// openTasks returns the open tasks of the matching conversations that are not paused.
func (o Operator) openTasks(ctx context.Context, match func(conversation string) bool) ([]store.Task, error) {
	open, err := o.hub.o.Store.OpenTasks(ctx)
	if err != nil {
		return nil, err
	}
	paused, err := o.hub.o.Store.Pauses().List(ctx)
	return slices.DeleteFunc(open, func(t store.Task) bool {
		root, _ := store.RootOf(t.Conversation)
		return !match(root) || slices.Contains(paused, everywhere) || slices.Contains(paused, root)
	}), err
}

// Unanswered returns the texts of the messages to the bot that wait for an answer in a conversation,
// oldest first.
func Unanswered(ctx context.Context, h *Hub, name string) (texts []string, err error) {
	records, err := h.o.Store.Find(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	add := func(text string, addressed bool) {
		if addressed {
			texts = append(texts, text)
		}
	}
	turn, open, err := records.Turns().Unanswered(ctx)
	if err != nil {
		return nil, err
	}
	if open {
		messages, err := records.Turns().Messages(ctx, turn.Seq)
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			add(m.Text, m.Addressed)
		}
	}
	waiting, err := records.Inbox().Oldest(ctx, pageSize)
	for _, m := range waiting {
		add(m.Text, m.Addressed)
	}
	return texts, err
}
