// The HTTP API: its routes are registered, documented and checked from one table.

package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/channel/report"
	"cairn/internal/lazy"
	"cairn/memory"
	"cairn/store"
)

type route struct {
	pattern, summary string
	query            []param
	statuses         []int                       // of its answers; the first one unless its handler sets another
	body, answer     reflect.Type                // nil: none
	handle           func(*request) (any, error) // returns the answer
	events           handler                     // handles the request instead, with a stream
	fresh            bool                        // the conversation in the path may be new
	slow             bool                        // no time limit
}

// param is a parameter of a route.
type param struct {
	name, text string
	in         string   // path or header; "": the query
	words      []string // one of these; nil: any text
	least      int
	most       int // it is a whole number from least to most; 0: a text
}

// maxNumber is the highest seq and offset.
const maxNumber = 1<<32 - 1

func (p param) check(value string) error {
	switch n, err := strconv.Atoi(value); {
	case value == "":
	case p.words != nil && !slices.Contains(p.words, value):
		return bad("%s = %q: must be one of %s.", p.name, value, strings.Join(p.words, ", "))
	case p.most > 0 && (err != nil || n < p.least || n > p.most):
		return bad("%s = %q: must be a whole number from %d to %d.", p.name, value, p.least, p.most)
	case p.name == sinceParam.name:
		if _, err := memory.Ago(value, time.Now()); err != nil {
			return bad("since: %v.", err)
		}
	}
	return nil
}

func (p param) schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string", Description: p.text}
	if p.most > 0 {
		s.Type = "integer"
	}
	for _, word := range p.words {
		s.Enum = append(s.Enum, word)
	}
	return s
}

// inPath are the parameters in the paths of routes.
var inPath = map[string]param{
	"conversation": {text: "its full name, as terminal:garden; percent-encoded in a path"},
	"summary":      {text: "its number, as the lists show it", most: maxNumber},
	"id":           {text: "its number, as the lists show it", most: maxNumber},
	"line":         {text: "its number, as the summary lists it", least: 1, most: maxNumber},
	"code":         {text: "number of the call, as the conversation lists it"},
}

var pathNames = lazy.Pattern(`\{(\w+)\}`)

// params returns the parameters of a route, those in its path first.
func (r route) params() (all []param) {
	for _, match := range pathNames().FindAllStringSubmatch(r.pattern, -1) {
		p := inPath[match[1]]
		p.name = match[1]
		p.in = "path"
		all = append(all, p)
	}
	return append(all, r.query...)
}

// read returns a route that reads a T.
func read[T any](path, summary string, handle func(*request) (T, error), query ...param) route {
	r := act("GET "+path, summary, handle, http.StatusOK)
	r.query = query
	return r
}

// act returns a route that changes something and needs no body.
func act[T any](pattern, summary string, handle func(*request) (T, error), statuses ...int) route {
	return route{
		pattern: pattern, summary: summary, statuses: statuses, answer: reflect.TypeFor[T](),
		handle: func(r *request) (any, error) { return handle(r) },
	}
}

// send returns a route that changes something, with a B as its body.
func send[B, T any](pattern, summary string, handle func(*request, B) (T, error), statuses ...int) route {
	r := act(pattern, summary, func(r *request) (answer T, err error) {
		var body B
		if err := r.decode(&body); err != nil {
			return answer, err
		}
		return handle(r, body)
	}, statuses...)
	r.body = reflect.TypeFor[B]()
	return r
}

func (s *Server) apiRoutes() {
	for _, r := range s.routes() {
		serve := s.handle
		if r.slow || r.events != nil {
			serve = s.stream
		}
		serve(r.pattern, func(w http.ResponseWriter, req *http.Request) error {
			q, err := requestOf(req, r.query)
			if err != nil {
				return err
			}
			if r.events != nil {
				return r.events(w, req)
			}
			if name := q.PathValue("conversation"); name != "" && !r.fresh {
				q.conversation, err = s.find(q.Context(), name)
				if err != nil {
					return err
				}
			}
			answer, err := r.handle(q)
			if err != nil {
				return err
			}
			if status := cmp.Or(q.status, r.statuses[0]); status == http.StatusNoContent {
				w.WriteHeader(status)
			} else {
				writeJSON(w, status, "application/json", answer)
			}
			return nil
		})
	}
}

func (s *Server) find(ctx context.Context, name string) (*store.Conversation, error) {
	if name == "" {
		return nil, invalid("Name a conversation, such as terminal:general.")
	}
	c, err := s.o.Store.Find(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, problem(http.StatusNotFound, "There is no conversation %q.", name)
	}
	return c, err
}

var (
	limitParam  = param{name: "limit", text: "at most this many, 1 to 200 (default: 50)", least: 1, most: 200}
	offsetParam = param{name: "offset", text: "skip this many", most: maxNumber}
	sinceParam  = param{name: "since", text: "2026-05-08, 2026-05-08T15:00Z, 36h, 7d, 2w (default: all time)"}
	beforeParam = param{name: "before", text: "only messages with a smaller seq", least: 1, most: maxNumber}
	allParam    = param{name: "limit", text: "at most this many (default: all; as a tool 50)", least: 1, most: maxNumber} // of lists that are usually short
	searchParam = param{name: "q", text: "search for these words"}
)

const simulatePath = "/api/simulate"

func (s *Server) routes() []route {
	const one, memories, memoryOne = "/api/conversations/{conversation}", "/api/memories", "/api/memories/{id}"
	const ok, accepted, conflict, unfit = http.StatusOK, http.StatusAccepted, http.StatusConflict, http.StatusUnprocessableEntity
	post := send("POST "+one+"/messages", "Send a message or a command to a web conversation, web:NAME, which may be new: "+
		"202 once the message is on disk; 200 with a command's answer", s.postMessage, ok, accepted, http.StatusBadRequest, conflict, unfit, http.StatusTooManyRequests)
	post.fresh = true
	simulation := send("POST "+simulatePath, "What other settings would have done with a conversation, without a model; "+
		"the current settings come first. One runs at a time; others wait", s.simulate, ok, unfit)
	simulation.slow = true
	return []route{
		read("/api/conversations", "List conversations, the one with the newest message first", s.listConversations,
			param{name: "q", text: "only those with these words in their name"}, limitParam, offsetParam),
		read(one, "One conversation: how full its window is and of what, its agent and its policy with origins", s.showConversation),
		read(one+"/usage", "What its models were used for, what that cost, and what summaries saved", s.conversationUsage),
		read(one+"/history", "Tokens used over its messages, and its compactions", s.history, sinceParam, beforeParam,
			param{name: "from", text: "only from this seq on, with the last usage before it", least: 1, most: maxNumber},
			param{name: "to", text: "only up to this seq", least: 1, most: maxNumber}),
		read(one+"/messages", "Messages: the newest page, oldest first; with q the best first", s.messages,
			beforeParam, searchParam, limitParam),
		read(one+"/summaries", "The summaries in the prompt, oldest first", s.summaries, allParam, offsetParam),
		read(one+"/summaries/{summary}", "A summary, and the summaries or messages behind it", s.summary,
			param{name: "from", text: "seq of the first message to show", least: 1, most: maxNumber}, limitParam),
		read(one+"/summaries/{summary}/lines/{line}", "A line of a summary, and the messages it rests on", s.summaryLine),
		send("POST "+one+"/summaries/{summary}/lines/{line}", "Rewrite a line of a summary in the prompt, which gets a new number; "+
			"a text of \"\" removes it. Undo reverts this", s.rewriteLine, ok, unfit),
		read(one+"/tasks", "The newest tasks that it gave to other agents, oldest first", s.tasks),
		read(one+"/settings", "Its compaction settings, with origins", s.showSettings),
		post,
		send("POST "+one+"/compact", "Summarize older messages: 202 with the job, 200 with what was applied immediately "+
			"or why there is nothing to do, 409 if one runs", s.compact, ok, accepted, conflict),
		act("POST "+one+"/undo", "Undo what was applied last; memories stay", s.undo, ok, conflict),
		act("POST "+one+"/new", "Start a new session; the old one is summarized: "+
			"202 if it starts once the earlier messages are answered", s.newSession, ok, accepted),
		act("POST "+one+"/pause", "Call no model until it is resumed; messages are still saved", s.pause, ok),
		act("POST "+one+"/resume", "Answer again", s.resume, ok),
		send("POST "+one+"/approvals/{code}", "Allow or deny a tool call that waits for approval; 404 if it no longer waits", s.approve, ok),
		send("PUT "+one+"/settings", `Set values, all or none: {"background_threshold": 0.7, "focus": null}; null resets one`,
			s.putSettings, ok, unfit),
		read(memories, "List memories, newest first; with q the best first", s.listMemories,
			searchParam, param{name: "conversation", text: "only those of this conversation, by name"},
			param{name: "kind", text: "what kind of memory", words: memory.Kinds},
			param{name: "about", text: "only those about this person, by name or id"}, sinceParam,
			param{name: "state", text: "its state (default: current)", words: memory.States},
			param{name: "sort", text: "in which order", words: memory.Sorts}, limitParam, offsetParam),
		send("POST "+memories, "Save a memory: 201, or 200 if it was already known",
			s.createMemory, ok, http.StatusCreated, conflict, unfit),
		read(memoryOne, "A memory, the messages it came from, and what superseded what", s.showMemory),
		send("PATCH "+memoryOne, "Change a memory's text, pin or unpin it, forget or restore it", s.patchMemory, ok, conflict, unfit),
		act("DELETE "+memoryOne, `Permanently delete a memory; PATCH with state "forgotten" can be undone`,
			s.purgeMemory, http.StatusNoContent),
		simulation,
		read("/api/recall", "Search memories and messages, best first, without a model", s.recall,
			param{name: "q", text: "a question or words; required"}, param{name: "conversation", text: "its name; required"},
			param{name: "as", text: "name of the person who asks, whom \"I\" means"}, sinceParam, limitParam),
		read("/api/usage", "What models were used for, and what it cost", s.usage,
			param{name: "by", text: "what each row counts (default: day)", words: report.UsageKeys}, sinceParam, allParam, offsetParam),
		{pattern: "GET /api/events", summary: "Events as they happen, as server-sent events", events: s.watch, query: []param{
			{name: "conversation", text: "only those of this conversation, by name"},
			{name: "Last-Event-ID", in: "header", text: "resume after this event"},
			{name: "kinds", text: "only these, separated by commas: " + strings.Join(allKinds, ", ")},
		}},
		read("/api/openapi.json", "This description", s.openAPI),
	}
}
