// API routes: reading conversations, and simulating other settings on one.

package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"cairn/channel"
	"cairn/channel/report"
	"cairn/chat"
	"cairn/compactor"
	"cairn/memory"
	"cairn/simulate"
	"cairn/store"
)

type conversationList struct {
	Conversations []listedConversation `json:"conversations"`
	Total         int                  `json:"total"`
}

type listedConversation struct {
	Channel  string    `json:"channel"`
	Name     string    `json:"name,omitempty" jsonschema:"what people call it"`
	Agent    string    `json:"agent"`
	Messages int64     `json:"messages" jsonschema:"numbers given so far, tool results and deleted ones included"`
	Last     time.Time `json:"last,omitzero"`
	State    string    `json:"state" jsonschema:"answering, summarizing, idle or paused"`
	Used     int       `json:"used_tokens" jsonschema:"of the next request, the reply's reserve included"`
	Max      int       `json:"max_tokens" jsonschema:"the window; 0: not known"`

	CannotWrite string `json:"cannot_write,omitempty" jsonschema:"why the bot may not write there; absent: it may, or nobody knows"`
}

func (s *Server) listConversations(r *request) (list conversationList, err error) {
	ctx := r.Context()
	limit, offset := r.page()
	places, total, e1 := s.o.Store.Places(ctx, r.Get("q"), limit, offset)
	paused, e2 := s.o.Store.Pauses().List(ctx)
	if err := cmp.Or(e1, e2); err != nil {
		return list, err
	}
	list = conversationList{Conversations: []listedConversation{}, Total: total}
	for _, p := range places {
		l := listedConversation{
			Channel: p.Channel, Name: p.Name, Agent: s.agentID(ctx, p.Channel), Messages: p.Next - 1, Last: p.Last, State: "idle",
			CannotWrite: channel.CannotWrite(s.o.Hub, p.Channel),
		}
		now, err := s.activity(ctx, p)
		if err != nil {
			return list, err
		}
		l.Used = now.Used
		l.Max = now.Window
		switch {
		case now.Answering:
			l.State = "answering"
		case now.Summarizing:
			l.State = "summarizing"
		case slices.Contains(paused, p.Channel) || slices.Contains(paused, ""):
			l.State = "paused"
		}
		list.Conversations = append(list.Conversations, l)
	}
	return list, nil
}

func (s *Server) agentID(ctx context.Context, name string) string {
	if strings.HasPrefix(name, store.TaskConnector+":") {
		if records, err := s.o.Store.Find(ctx, name); err == nil {
			if t, err := records.Tasks().Self(ctx); err == nil {
				return t.Agent
			}
		}
	}
	return s.operator.AgentID(name)
}

// conversationAnswer is one conversation, as in `cairn context --json`, with its compaction settings.
type conversationAnswer struct {
	report.Context
	Settings  []report.Setting `json:"settings" jsonschema:"the policy, with origins"`
	Silent    bool             `json:"silent" jsonschema:"it is paused: no model is called until it is resumed"`
	Answering bool             `json:"answering"`

	Approvals []channel.Approval `json:"approvals,omitempty" jsonschema:"calls of tools that wait to be allowed"`

	CannotWrite string `json:"cannot_write,omitempty" jsonschema:"why the bot may not write there; absent: it may, or nobody knows"`
}

func (s *Server) showConversation(r *request) (a conversationAnswer, _ error) {
	name := r.conversation.Name()
	var e1, e2 error
	a.Context, e1 = s.operator.Context(r.Context(), name)
	a.Settings, _, e2 = s.operator.Settings(r.Context(), name)
	here, all, e3 := s.operator.Paused(r.Context(), name)
	now, _ := s.operator.Activity(name)
	a.Silent = here || all
	a.Answering = now.Answering
	a.Approvals = s.operator.Approvals(name)
	a.CannotWrite = channel.CannotWrite(s.o.Hub, name)
	return a, cmp.Or(e1, e2, e3)
}

func (s *Server) conversationUsage(r *request) (spent report.Spending, err error) {
	now, err := s.operator.Spending(r.Context(), r.conversation.Name())
	if err == nil {
		spent = *now
	}
	return spent, err
}

type messageList struct {
	Messages []messageAnswer `json:"messages"`
	Before   int64           `json:"before,omitempty" jsonschema:"for the next page, of older ones; absent: there is none"`
}

type messageAnswer struct {
	chat.Record
	Score float64 `json:"score,omitempty" jsonschema:"of a search"`
	Match string  `json:"match,omitempty" jsonschema:"the part that the search found"`
}

func foundMessages(found []memory.Found) []messageAnswer {
	return each(found, func(m memory.Found) messageAnswer {
		return messageAnswer{chat.RecordOf(m.Message), m.Score, m.Passage(matchShown)}
	})
}

// matchShown is how many characters of a message or a file a search result contains.
const matchShown = 600

func (s *Server) messages(r *request) (messageList, error) {
	limit, _ := r.page()
	before := int64(r.number("before", 0))
	if q := r.Get("q"); q != "" {
		found, err := memory.Of(r.conversation).Recall(r.Context(), memory.Question{Text: q, Before: before, Limit: limit})
		return messageList{Messages: foundMessages(found)}, err
	}
	found, more, err := r.conversation.Transcript().Earlier(r.Context(), before, limit)
	list := messageList{Messages: each(found, func(m chat.Message) messageAnswer { return messageAnswer{Record: chat.RecordOf(m)} })}
	if more {
		list.Before = found[0].Seq
	}
	return list, err
}

type summaryList struct {
	Stack []report.StackEntry `json:"stack" jsonschema:"of this session, oldest first"`
	Total int                 `json:"total" jsonschema:"how many the stack has"`
	Past  report.Past         `json:"past" jsonschema:"of the time before it"`

	Evidence store.Evidence `json:"evidence" jsonschema:"of the newest summaries"`
}

func (s *Server) summaries(r *request) (summaryList, error) {
	now, err := s.operator.Context(r.Context(), r.conversation.Name())
	return summaryList{listOf(cut(r, now.Stack)), len(now.Stack), now.Past, now.Evidence}, err
}

type taskList struct {
	Tasks []channel.Task `json:"tasks"`
}

func (s *Server) tasks(r *request) (taskList, error) {
	all, err := r.conversation.Tasks().List(r.Context())
	return taskList{listOf(all)}, err
}

type summaryAnswer struct {
	Summary  report.StackEntry   `json:"summary"`
	Children []report.StackEntry `json:"children" jsonschema:"of a rollup, oldest first"`
	Messages []chat.Record       `json:"messages" jsonschema:"of any other, oldest first"`
	From     int64               `json:"from,omitempty" jsonschema:"for the next page; absent: there is none"`
}

func (s *Server) summary(r *request) (a summaryAnswer, err error) {
	limit, _ := r.page()
	e, err := r.conversation.Transcript().Expand(r.Context(), r.id("summary"), int64(r.number("from", 1)), limit)
	if err != nil {
		return a, err
	}
	return summaryAnswer{report.StackEntryOf(e.Row), each(e.Children, report.StackEntryOf), each(e.Messages, chat.RecordOf), e.Next}, nil
}

type lineAnswer struct {
	Line     report.SummaryLine `json:"line"`
	Messages []chat.Record      `json:"messages" jsonschema:"it rests on, oldest first; none that was deleted"`
}

func (s *Server) summaryLine(r *request) (a lineAnswer, err error) {
	e, err := r.conversation.Transcript().Expand(r.Context(), r.id("summary"), 1, 0)
	if err != nil {
		return a, err
	}
	lines := report.StackEntryOf(e.Row).Lines
	number := r.id("line")
	if number < 1 || number > int64(len(lines)) {
		return a, problem(http.StatusNotFound, "The summary has no line with that number.")
	}
	a.Line = lines[number-1]
	found, err := report.Evidence(r.Context(), r.conversation, a.Line)
	a.Messages = listOf(found)
	return a, err
}

type simulateBody struct {
	Conversation string        `json:"conversation"`
	Variants     []variantBody `json:"variants" jsonschema:"at most 8; none: the current settings alone"`
	messageRange
}

type variantBody struct {
	Name     string                     `json:"name,omitempty" jsonschema:"absent: made of its settings"`
	Settings map[string]json.RawMessage `json:"settings" jsonschema:"over the current ones; keys of [defaults.compaction], or context_window"`
}

const maxVariants = 8

func (s *Server) simulate(r *request, b simulateBody) (report simulate.Report, err error) {
	if len(b.Variants) > maxVariants {
		return report, invalid("variants: at most %d are compared at once.", maxVariants)
	}
	c, err := s.find(r.Context(), b.Conversation)
	if err != nil {
		return report, err
	}
	var variants []simulate.Variant
	for _, v := range b.Variants {
		made := simulate.Variant{Name: v.Name, Set: compactor.Patch{}}
		for key, raw := range v.Settings {
			text, err := settingText(raw)
			if err != nil || text == nil {
				return report, invalid("%s: must be a number, a text, true or false.", key)
			}
			made.Set[key] = *text
		}
		variants = append(variants, made)
	}
	return s.simulation(r.Context(), c, variants, b.messageRange)
}

func (s *Server) policy(ctx context.Context, c *store.Conversation) (agent channel.Agent, policy compactor.Policy, err error) {
	agent, err = s.operator.Agent(ctx, c)
	if err == nil {
		policy, err = agent.PolicyOf(ctx, c)
	}
	return agent, policy, err
}

// simulation simulates variants on a conversation. Only one runs at a time, because it occupies a
// CPU and keeps the conversation in memory.
func (s *Server) simulation(ctx context.Context, c *store.Conversation, variants []simulate.Variant, of messageRange) (report simulate.Report, err error) {
	agent, policy, err := s.policy(ctx, c)
	if err != nil {
		return report, err
	}
	o := simulate.OptionsOf(ctx, agent, policy, s.o.Settings().Money().Prices)
	o.From = of.From
	if err := of.check(); err != nil {
		return report, err
	}
	for _, v := range variants {
		if err := o.Check(v); err != nil {
			return report, invalid("%v.", err)
		}
	}
	select {
	case s.simulating <- struct{}{}:
		defer func() { <-s.simulating }()
	case <-ctx.Done():
		return report, ctx.Err()
	}
	rec, err := simulate.Read(ctx, c)
	if err != nil {
		return report, err
	}
	report, err = simulate.Run(ctx, rec.Until(of.To), variants, o)
	if errors.Is(err, simulate.ErrNoMessages) {
		err = invalid("%v.", err)
	}
	return report, err
}
