// Package task gives work to sub-agents. A task is a separate conversation, run by the same loop as any other: its inbox has the
// assignment, its compactor keeps it inside its window, and its answer goes to the conversation that started it. It works in
// parts: a turn ends after a few calls, so that the work is on disk and may be summarized, and the next turn continues.
package task

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"cairn/channel/access"
	"cairn/store"
)

// Defaults of Limits.
const (
	DefaultCalls      = 100
	DefaultTime       = 30 * time.Minute
	DefaultPerMessage = 8
)

// MaxDepth is the max depth of tasks that start tasks.
const MaxDepth = 3

const (
	maxOpen       = 4           // below one conversation of people
	partCalls     = 8           // model calls in one part of a task
	partShare     = 8           // of the window: a part may add at most 1/8 to it
	checkInterval = time.Minute // an open task looks for work at least this often
)

// ShownTokens limits a task's text where it is quoted.
const ShownTokens = 60

// Limits are what an agent's settings allow. The zero value has the defaults.
type Limits struct {
	Calls      int           // the max calls to the agent's model for one task
	Time       time.Duration // the agent's task expires after this long
	PerMessage int           // the max tasks that one message from outside may set off, if the agent starts them
}

func (l Limits) calls() int          { return cmp.Or(l.Calls, DefaultCalls) }
func (l Limits) time() time.Duration { return cmp.Or(l.Time, DefaultTime) }
func (l Limits) perMessage() int     { return cmp.Or(l.PerMessage, DefaultPerMessage) }

// Runtime runs the conversations of tasks.
type Runtime interface {
	// Limits returns those of an agent; known is false if there is no such agent.
	Limits(agent string) (limits Limits, known bool)
	// Wake has a conversation check for work.
	Wake(ctx context.Context, conversation string) error
	// Interrupt stops the turns of a task and of those below it.
	Interrupt(conversation string)
	// Report reports that a task begins, makes progress or ends.
	Report(t store.Task)
}

// Service is what all tasks of a bot share.
type Service struct {
	Store *store.Store
	Runtime
	Access *access.Control
	Log    *slog.Logger
}

// Run returns the task that a conversation is; nil if it is none.
func (s *Service) Run(records *store.Conversation, log *slog.Logger) *Run {
	if !records.IsTask() {
		return nil
	}
	return &Run{service: s, records: records, log: log}
}

// Find returns the task that the conversation with a name is.
func (s *Service) Find(ctx context.Context, name string) (*Run, error) {
	records, err := s.Store.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.Run(records, s.Log.With("conversation", name)), nil
}

// Stop ends an open task because somebody wants that.
func (s *Service) Stop(ctx context.Context, t store.Task, who string) error {
	run, err := s.Find(ctx, t.Conversation)
	if err != nil {
		return err
	}
	return run.End(ctx, store.TaskStopped, who+" stopped it")
}
