// API routes: reading conversations.

package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"cairn/channel"
	"cairn/channel/report"
	"cairn/chat"
	"cairn/config"
	"cairn/memory"
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
	Archived bool      `json:"archived,omitempty" jsonschema:"people archived it, and nobody has written there since"`
	State    string    `json:"state" jsonschema:"answering, summarizing, idle or paused"`
	Used     int       `json:"used_tokens" jsonschema:"of the next request, the reply's reserve included"`
	Max      int       `json:"max_tokens" jsonschema:"the window; 0: not known"`

	CannotWrite string `json:"cannot_write,omitempty" jsonschema:"why the bot may not write there; absent: it may, or nobody knows"`
}

// conversations handles requests that read conversations.
type conversations struct {
	hub      *channel.Hub
	operator channel.Operator
	store    *store.Store
	settings func() *config.Settings
	fills    sync.Map // of cachedUsage, by conversation
}

func (c *conversations) routes() []route {
	const one = conversationPath
	return []route{
		read("/api/conversations", "List conversations, the one with the newest message first", c.list,
			param{name: "q", text: "only those with these words in their name"},
			param{name: "connector", text: "only those of this one: web, terminal, discord, slack"},
			param{name: "archived", text: "only those that people have archived, or only others (default: both)", words: store.ArchivedStates}, limitParam, offsetParam),
		read(one, "One conversation: how full its window is and of what, its agent and its policy with origins", c.show),
		read(one+"/usage", "What its models were used for, what that cost, and what summaries saved", c.spending),
		read(one+"/history", "Tokens used over its messages, and its compactions", c.history, sinceParam, beforeParam,
			param{name: "from", text: "only from this seq on, with the last usage before it", min: 1, max: maxNumber},
			param{name: "to", text: "only up to this seq", min: 1, max: maxNumber}),
		read(one+"/messages", "Messages: the newest page, oldest first; with q the best first, else with by, since, until or order the newest first",
			listMessages, beforeParam, afterParam, searchParam, byParam, sinceParam, untilParam, orderParam, limitParam),
		read(one+"/people", "Who speaks in it, and whom its memories are about, by name", listPeople, limitParam, offsetParam),
		read(one+"/people/{person}", "What the memories say of a person: what is true now, what was, what is in doubt; and their newest messages",
			showPerson, limitParam),
		read(one+"/summaries", "The summaries in the prompt, oldest first", c.summaries, allParam, offsetParam),
		read(one+"/summaries/{summary}", "A summary, and the summaries or messages behind it", showSummary,
			param{name: "from", text: "seq of the first message to show", min: 1, max: maxNumber}, limitParam),
		read(one+"/summaries/{summary}/lines/{line}", "A line of a summary, and the messages it rests on", showLine),
		read(one+"/tasks", "The newest tasks that it gave to other agents, oldest first", listTasks),
	}
}

func (c *conversations) list(r *request) (list conversationList, err error) {
	ctx := r.Context()
	limit, offset := r.page()
	places, total, e1 := store.PlacesOf(ctx, c.store, store.PlaceFilter{
		Words: r.Get("q"), Connector: r.Get("connector"), Archived: r.Get("archived"), Limit: limit, Offset: offset,
	})
	paused, e2 := c.store.Pauses().List(ctx)
	if err := cmp.Or(e1, e2); err != nil {
		return list, err
	}
	list = conversationList{Conversations: []listedConversation{}, Total: total}
	for _, p := range places {
		l := listedConversation{
			Channel: p.Channel, Name: p.Name, Agent: c.agentID(ctx, p.Channel), Messages: p.Next - 1, Last: p.Last, Archived: p.Archived, State: "idle",
			CannotWrite: channel.CannotWrite(c.hub, p.Channel),
		}
		now, err := c.activity(ctx, p)
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

func (c *conversations) agentID(ctx context.Context, name string) string {
	if strings.HasPrefix(name, store.TaskConnector+":") {
		if records, err := c.store.Find(ctx, name); err == nil {
			if t, err := records.Tasks().Self(ctx); err == nil {
				return t.Agent
			}
		}
	}
	return c.operator.AgentID(name)
}

// conversationAnswer is one conversation, as in `cairn context --json`, with its compaction settings.
type conversationAnswer struct {
	report.Context
	Settings  []report.Setting `json:"settings" jsonschema:"the policy, with origins"`
	Silent    bool             `json:"silent" jsonschema:"it is paused: no model is called until it is resumed"`
	Answering bool             `json:"answering"`

	Approvals []channel.Approval `json:"approvals,omitempty" jsonschema:"calls of tools that wait to be allowed"`

	Models []string `json:"models,omitempty" jsonschema:"what may be chosen in place of model; absent: nothing"`
	Choice string   `json:"chosen_model,omitempty" jsonschema:"which of models is chosen"`

	CannotWrite string `json:"cannot_write,omitempty" jsonschema:"why the bot may not write there; absent: it may, or nobody knows"`
}

func (c *conversations) show(r *request) (a conversationAnswer, _ error) {
	name := r.conversation.Name()
	var e1, e2 error
	a.Context, e1 = c.operator.Context(r.Context(), name)
	a.Settings, _, e2 = c.operator.Settings(r.Context(), name)
	pausedAlone, all, e3 := c.operator.Paused(r.Context(), name)
	models, chosen, e4 := channel.ChoicesIn(r.Context(), c.operator, name)
	a.Models = models
	if len(models) > 0 {
		a.Choice = chosen
	}
	now, _ := c.operator.Activity(name)
	a.Silent = pausedAlone || all
	a.Answering = now.Answering
	a.Approvals = c.operator.Approvals(name)
	a.CannotWrite = channel.CannotWrite(c.hub, name)
	return a, cmp.Or(e1, e2, e3, e4)
}

func (c *conversations) spending(r *request) (spent report.Spending, err error) {
	now, err := c.operator.Spending(r.Context(), r.conversation.Name())
	if err == nil {
		spent = *now
	}
	return spent, err
}

type messageList struct {
	Messages []FoundMessage `json:"messages"`
	Before   int64          `json:"before,omitempty" jsonschema:"for the next page, of older ones; absent: there is none"`
}

// FoundMessage is a message, perhaps one that a search has found.
type FoundMessage struct {
	chat.Record
	Score float64       `json:"score,omitempty" jsonschema:"of a search"`
	Match string        `json:"match,omitempty" jsonschema:"the part that the search found"`
	Parts []memory.Part `json:"parts,omitempty" jsonschema:"what the score is the sum of, if explain asks for it"`
}

func foundMessages(found []memory.Found) []FoundMessage {
	return each(found, func(m memory.Found) FoundMessage {
		return FoundMessage{Record: chat.RecordOf(m.Message), Score: m.Score, Match: m.Passage(maxMatch)}
	})
}

// maxMatch is how many characters of a message or a file a search result contains.
const maxMatch = 600

func listMessages(r *request) (messageList, error) {
	limit, _ := r.page()
	before := int64(r.number("before", 0))
	if q := r.question(); !q.IsEmpty() {
		q.Before = before
		q.Limit = limit
		found, err := memory.Of(r.conversation).Recall(r.Context(), q)
		list := messageList{Messages: foundMessages(found)}
		if q.Text == "" && q.By != "" && q.Order == "" && len(found) == limit { // by seq, the newest first
			list.Before = found[limit-1].Seq
		}
		return list, err
	}
	if r.Has("after") {
		found, err := r.conversation.Transcript().Page(r.Context(), int64(r.number("after", 0))+1, limit)
		return messageList{Messages: each(found, func(m chat.Message) FoundMessage { return FoundMessage{Record: chat.RecordOf(m)} })}, err
	}
	found, more, err := r.conversation.Transcript().Earlier(r.Context(), before, limit)
	list := messageList{Messages: each(found, func(m chat.Message) FoundMessage { return FoundMessage{Record: chat.RecordOf(m)} })}
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

func (c *conversations) summaries(r *request) (summaryList, error) {
	now, err := c.operator.Context(r.Context(), r.conversation.Name())
	return summaryList{listOf(cut(r, now.Stack)), len(now.Stack), now.Past, now.Evidence}, err
}

type taskList struct {
	Tasks []channel.Task `json:"tasks"`
}

func listTasks(r *request) (taskList, error) {
	all, err := r.conversation.Tasks().List(r.Context())
	return taskList{listOf(all)}, err
}

type summaryAnswer struct {
	Summary  report.StackEntry   `json:"summary"`
	Children []report.StackEntry `json:"children" jsonschema:"of a rollup, oldest first"`
	Messages []chat.Record       `json:"messages" jsonschema:"of any other, oldest first"`
	From     int64               `json:"from,omitempty" jsonschema:"for the next page; absent: there is none"`
}

func showSummary(r *request) (a summaryAnswer, err error) {
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

func showLine(r *request) (a lineAnswer, err error) {
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
