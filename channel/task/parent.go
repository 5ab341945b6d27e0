package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/store"
)

// How tasks start, by the tools spawn and parallel_spawn or by /ask.

// maxTextTokens limits a task's text.
const maxTextTokens = 2000

// Parent is a conversation that starts tasks.
type Parent struct {
	service *Service
	host    Host
	records *store.Conversation
	log     *slog.Logger
}

// Host is what a parent needs of its conversation.
type Host interface {
	// Terms returns those of a task that starts now.
	Terms() (Terms, error)
}

// Terms are what a conversation decides about the tasks that it starts.
type Terms struct {
	Agents []string        // ids of those that accept tasks
	Limits Limits          // of the agent that starts the task
	Above  compactor.Patch // the set layers of the conversation's policy
	Next   int64           // seq of the conversation's next message
	Turn   int64           // seq of the running turn; 0: none
}

// Parent returns a conversation as the parent of its tasks.
func (s *Service) Parent(records *store.Conversation, host Host, log *slog.Logger) *Parent {
	return &Parent{service: s, host: host, records: records, log: log}
}

// order is what to write a task from.
type order struct {
	assignment
	sources []chat.Message // that it comes from
	turn    int64          // that begins it; 0: a person does
	author  string         // the platform ID of that person; "": the model
}

// Ask starts a task that a person requests.
func (p *Parent) Ask(ctx context.Context, agent, text, author string) (store.Task, error) {
	o := order{assignment: assignment{Agent: agent, Task: text}, author: author}
	n, err := p.write(ctx, o)
	if err != nil {
		return store.Task{}, err
	}
	return p.begin(ctx, n, o)
}

// write checks a task and writes its instructions.
func (p *Parent) write(ctx context.Context, o order) (n store.NewTask, err error) {
	terms, err := p.host.Terms()
	if err != nil {
		return n, err
	}
	text := strings.TrimSpace(o.Task)
	switch {
	case !slices.Contains(terms.Agents, o.Agent):
		return n, sentences.NewProblem(fmt.Sprintf("There is no agent %q. These accept tasks: %s.", o.Agent, strings.Join(terms.Agents, ", ")))
	case text == "":
		return n, sentences.NewProblem("Describe the task.")
	case tokens.Estimate(text) > maxTextTokens:
		return n, sentences.NewProblem(fmt.Sprintf("That task is too long: at most %d tokens, about %d characters.", maxTextTokens, 4*maxTextTokens))
	}
	settings, err := report.PatchOf(o.Compaction)
	if err != nil {
		return n, err
	}
	newest, err := p.records.Transcript().Page(ctx, terms.Next-briefingMessages, briefingMessages)
	if err != nil {
		return n, err
	}
	briefing, sources := briefingOf(newest)
	for _, m := range o.sources {
		sources = append(sources, m.Seq)
	}
	return store.NewTask{
		Task: store.Task{
			Agent: o.Agent, Text: text, Set: settings, Above: terms.Above, Began: terms.Next - 1, Sources: sources, Author: o.author,
		},
		Message: fmt.Sprintf("<task>\n%s\n</task>%s", text, briefing), Turn: o.turn, Max: maxOpen, Chain: terms.Limits.perMessage(),
	}, nil
}

// begin starts a task that was written from an order, and wakes it.
func (p *Parent) begin(ctx context.Context, n store.NewTask, o order) (store.Task, error) {
	t, err := p.store(ctx, n, o)
	switch {
	case errors.Is(err, store.ErrTooManyTasks):
		return t, sentences.NewProblem(fmt.Sprintf("%d tasks are open here, which is the limit. Wait for one, or stop one with /tasks stop.", maxOpen))
	case errors.Is(err, store.ErrChainSpent):
		root, _ := store.RootOf(p.records.Name())
		if p.service.Access.First("tasks of "+root, time.Hour) {
			p.log.Warn("tasks_per_message_reached", "effect", "its results start no more tasks", "limit", n.Chain, "turn", n.Turn)
		}
		return t, sentences.NewProblem(fmt.Sprintf("One message has led to %d tasks, which is the limit (tasks_per_message): no more can start. Tell people what you have found, and what is left; when somebody writes, tasks can start again.", n.Chain))
	case err != nil:
		return t, err
	}
	p.log.Info("task_started", "task", t.Conversation, "agent", t.Agent)
	p.service.Report(t)
	return t, p.service.Wake(context.WithoutCancel(ctx), t.Conversation) // nothing else wakes it, also if /stop ends the turn now
}

// store stores a task. If a message of its briefing was deleted meanwhile, the task is written again, without that message.
// A task that comes from a deleted message is refused.
func (p *Parent) store(ctx context.Context, n store.NewTask, o order) (store.Task, error) {
	for {
		t, err := p.records.Tasks().Begin(ctx, n)
		deleted, ok := errors.AsType[*store.DeletedSourceError](err)
		if !ok {
			return t, err
		}
		renewed, failed := p.write(ctx, o)
		if failed != nil || slices.Contains(renewed.Sources, deleted.Seq) {
			return t, err
		}
		n = renewed
	}
}

// Drop ends the open tasks that the model began in a turn which starts again.
func (p *Parent) Drop(ctx context.Context, turn int64) error {
	dropped, err := p.records.Tasks().Drop(ctx, turn)
	for _, t := range dropped {
		p.service.Report(t)
		p.service.Interrupt(t.Conversation)
	}
	return err
}

// Mention returns what a summary must say about tasks that were started in its messages and are
// still open. It names them by number: their subject would outlast the deletion of the messages.
func (p *Parent) Mention(ctx context.Context, from, to int64) (string, error) {
	open, err := p.records.Tasks().Open(ctx)
	var lines []string
	for _, t := range open {
		if t.Began >= from && t.Began <= to {
			lines = append(lines, fmt.Sprintf("Open task %d of the agent %s began after #%d; its result comes as a message.", t.Number, t.Agent, t.Began))
		}
	}
	return strings.Join(lines, "\n"), err
}
