// API routes: reading conversations.

package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/channel"
	"cairn/chat"
	"cairn/memory"
	"cairn/store"
)

func (s *Server) conversationRoutes() []route {
	const one = "/api/conversations/{name}"
	return []route{
		{
			method: "GET", path: "/api/conversations", summary: "List conversations, the one with the newest message first", handle: s.listConversations,
			query: []param{{"q", "only those with these words in their name"}, limitParam, offsetParam}, answers: map[int]any{200: conversationList{}},
		},
		{
			method: "GET", path: one, summary: "One conversation: how full its window is and of what, its agent and its policy with origins", handle: s.in(s.showConversation),
			answers: map[int]any{200: conversationAnswer{}},
		},
		{
			method: "GET", path: one + "/usage", summary: "What its models were used for, what that cost, and what summaries saved", handle: s.in(s.conversationUsage),
			answers: map[int]any{200: channel.Spending{}},
		},
		{
			method: "GET", path: one + "/history", summary: "Tokens used over its messages, and its compactions", handle: s.in(s.history),
			query: []param{sinceParam, beforeParam}, answers: map[int]any{200: historyAnswer{}},
		},
		{
			method: "GET", path: one + "/messages", summary: "Messages: the newest page, oldest first; with q the best first", handle: s.in(s.messages),
			query: []param{beforeParam, {"q", "search for these words"}, limitParam}, answers: map[int]any{200: messageList{}},
		},
		{
			method: "GET", path: one + "/summaries", summary: "The summaries in the prompt, oldest first", handle: s.in(s.summaries), query: cutParams,
			answers: map[int]any{200: summaryList{}},
		},
		{
			method: "GET", path: one + "/summaries/{id}", summary: "A summary, and the summaries or messages behind it", handle: s.in(s.summary),
			query: []param{{"from", "seq of the first message to show"}, limitParam}, answers: map[int]any{200: summaryAnswer{}},
		},
		{
			method: "GET", path: one + "/tasks", summary: "The newest tasks that it gave to other agents, oldest first", handle: s.in(s.tasks),
			answers: map[int]any{200: taskList{}},
		},
		{
			method: "GET", path: one + "/settings", summary: "The values by which it is compacted, with origins", handle: s.in(s.showSettings),
			answers: map[int]any{200: settingsAnswer{}},
		},
	}
}

// conversationList is a page of conversations.
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
}

func (s *Server) listConversations(r *request) (any, error) {
	limit, offset := r.page()
	return s.conversations(r.Context(), r.Get("q"), limit, offset)
}

// conversations returns a page of the conversations whose names contain words.
func (s *Server) conversations(ctx context.Context, words string, limit, offset int) (list conversationList, err error) {
	places, total, err := s.o.Store.Places(ctx, words, limit, offset)
	if err != nil {
		return list, err
	}
	paused, err := s.o.Store.Pauses().List(ctx)
	if err != nil {
		return list, err
	}
	list = conversationList{Conversations: []listedConversation{}, Total: total}
	for _, p := range places {
		l := listedConversation{Channel: p.Channel, Name: p.Label, Agent: s.agentID(ctx, p.Channel), Messages: p.Next - 1, Last: p.Last, State: "idle"}
		now, err := s.fills.of(ctx, s.operator, p)
		if err != nil {
			return list, err
		}
		l.Used, l.Max = now.Used, now.Window
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

// agentID returns the id of the conversation's agent; a task has its own.
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

// conversationAnswer is one conversation, as in `cairn context --json`, with its compaction
// settings.
type conversationAnswer struct {
	channel.Context
	Settings  []channel.Setting `json:"settings" jsonschema:"the policy, with origins"`
	Silent    bool              `json:"silent" jsonschema:"it is paused: no model is called until it is resumed"`
	Answering bool              `json:"answering"`

	Approvals []channel.Approval `json:"approvals,omitempty" jsonschema:"calls of tools that wait to be allowed"`
}

func (s *Server) showConversation(r *request, c *store.Conversation) (any, error) {
	var a conversationAnswer
	var err error
	if a.Context, err = s.operator.Context(r.Context(), c.Name()); err != nil {
		return nil, err
	}
	if a.Settings, _, err = s.operator.Settings(r.Context(), c.Name()); err != nil {
		return nil, err
	}
	here, all, err := s.operator.Paused(r.Context(), c.Name())
	if err != nil {
		return nil, err
	}
	now, _ := s.operator.Activity(c.Name())
	a.Silent, a.Answering = here || all, now.Answering
	a.Approvals = s.operator.Approvals(c.Name())
	return a, nil
}

func (s *Server) conversationUsage(r *request, c *store.Conversation) (any, error) {
	return s.operator.Spending(r.Context(), c.Name())
}

// messageList is a page of messages.
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
	all := []messageAnswer{}
	for _, m := range found {
		all = append(all, messageAnswer{chat.RecordOf(m.Message), m.Score, m.Passage(matchShown)})
	}
	return all
}

// matchShown is how many characters of a message or a file a search result contains.
const matchShown = 600

func (s *Server) messages(r *request, c *store.Conversation) (any, error) {
	limit, _ := r.page()
	before := r.seq("before", 0)
	if q := r.Get("q"); q != "" {
		found, err := memory.Of(c).Recall(r.Context(), memory.Question{Text: q, Before: before, Limit: limit})
		if err != nil {
			return nil, err
		}
		return messageList{Messages: foundMessages(found)}, nil
	}
	list := messageList{Messages: []messageAnswer{}}
	found, more, err := c.Transcript().Earlier(r.Context(), before, limit)
	if err != nil {
		return nil, err
	}
	for _, m := range found {
		list.Messages = append(list.Messages, messageAnswer{Record: chat.RecordOf(m)})
	}
	if more {
		list.Before = found[0].Seq
	}
	return list, nil
}

// summaryList has the summaries in the prompt.
type summaryList struct {
	Stack []channel.StackEntry `json:"stack" jsonschema:"of this session, oldest first"`
	Total int                  `json:"total" jsonschema:"how many the stack has"`
	Past  channel.Past         `json:"past" jsonschema:"of the time before it"`
}

func (s *Server) summaries(r *request, c *store.Conversation) (any, error) {
	now, err := s.operator.Context(r.Context(), c.Name())
	if err != nil {
		return nil, err
	}
	part := cut(r, now.Stack)
	return summaryList{part, len(now.Stack), now.Past}, nil
}

type taskList struct {
	Tasks []channel.Task `json:"tasks"`
}

func (s *Server) tasks(r *request, c *store.Conversation) (any, error) {
	all, err := c.Tasks().List(r.Context())
	return taskList{append([]channel.Task{}, all...)}, err
}

// summaryAnswer is a summary, with what it covers.
type summaryAnswer struct {
	Summary  channel.StackEntry   `json:"summary"`
	Children []channel.StackEntry `json:"children" jsonschema:"of a rollup, oldest first"`
	Messages []chat.Record        `json:"messages" jsonschema:"of any other, oldest first"`
	From     int64                `json:"from,omitempty" jsonschema:"for the next page; absent: there is none"`
}

func (s *Server) summary(r *request, c *store.Conversation) (any, error) {
	limit, _ := r.page()
	e, err := c.Transcript().Expand(r.Context(), r.id(), r.seq("from", 1), limit)
	if err != nil {
		return nil, err
	}
	a := summaryAnswer{Summary: channel.StackEntryOf(e.Row), Children: []channel.StackEntry{}, Messages: []chat.Record{}, From: e.Next}
	for _, row := range e.Children {
		a.Children = append(a.Children, channel.StackEntryOf(row))
	}
	for _, m := range e.Messages {
		a.Messages = append(a.Messages, chat.RecordOf(m))
	}
	return a, nil
}

// id returns the {id} in the path of a request; 0, which nothing has, if it is none.
func (r *request) id() int64 {
	n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || n < 1 {
		r.wrong = cmp.Or(r.wrong, error(problem(http.StatusNotFound, "There is no %q here: an id is a whole number.", r.PathValue("id"))))
		return 0
	}
	return n
}
