// API routes: actions on a conversation.

package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"unicode/utf8"

	"cairn/channel"
	"cairn/compactor"
	"cairn/config"
	"cairn/store"
)

func (s *Server) actionRoutes() []route {
	const one = "/api/conversations/{name}"
	done := map[int]any{200: doneAnswer{}}
	jobs := map[int]any{200: jobAnswer{}, 202: jobAnswer{}, 409: nil}
	return []route{
		{
			method: "POST", path: one + "/compact", summary: "Summarize older messages: 202 with the job, 200 with what was applied immediately or why there is nothing to do, 409 if one runs", handle: s.in(s.compact),
			body: compactBody{}, answers: jobs,
		},
		{method: "POST", path: one + "/undo", summary: "Undo what was applied last; memories stay", handle: s.in(s.undo), answers: map[int]any{200: jobAnswer{}, 409: nil}},
		{method: "POST", path: one + "/new", summary: "Start a new session; the old one is summarized: 202 if it starts once the earlier messages are answered", handle: s.in(s.newSession), answers: map[int]any{200: doneAnswer{}, 202: doneAnswer{}}},
		{method: "POST", path: one + "/pause", summary: "Call no model until it is resumed; messages are still saved", handle: s.in(s.pause), answers: done},
		{method: "POST", path: one + "/resume", summary: "Answer again", handle: s.in(s.resume), answers: done},
		{
			method: "POST", path: one + "/approvals/{code}", summary: "Allow or deny a tool call that waits; 404 if it no longer does", handle: s.in(s.approve),
			body: approveBody{}, answers: done,
		},
		{
			method: "PUT", path: one + "/settings", summary: "Set values, all or none: {\"background_threshold\": 0.7, \"focus\": null}; null resets one", handle: s.in(s.putSettings),
			body: map[string]any{}, answers: map[int]any{200: settingsAnswer{}, 422: nil},
		},
	}
}

type doneAnswer struct {
	Done   bool   `json:"done" jsonschema:"something was changed, or will be"`
	Reason string `json:"reason,omitempty" jsonschema:"why not, or why later"`
}

// compactBody is the body of a compaction request.
type compactBody struct {
	Focus string         `json:"focus,omitempty" jsonschema:"what to keep in detail; at most 1000 characters"`
	Keep  *int           `json:"keep_last_n,omitempty" jsonschema:"how many of the newest messages stay, 0 to 500; absent: as the policy says"`
	With  map[string]any `json:"compaction,omitempty" jsonschema:"other settings for this compaction alone: {\"target_percentage\": 10}"`
}

// settings returns the settings for this compaction.
func (b compactBody) settings() (compactor.Patch, error) {
	with, err := channel.PatchOf(b.With)
	if b.Keep != nil && err == nil {
		with["keep_last_n"] = strconv.Itoa(*b.Keep)
	}
	return with, err
}

const (
	maxFocus = 1000
	maxKeep  = 500
)

// jobAnswer is a compaction that was started, or the reason why none was.
type jobAnswer struct {
	State    string `json:"state" jsonschema:"started, scheduled, applied, noop or undone"`
	Reason   string `json:"reason,omitempty" jsonschema:"why there was nothing to do"`
	ID       int64  `json:"id,omitempty" jsonschema:"of the summary; events about it have it too"`
	From     int64  `json:"from_seq,omitempty"`
	To       int64  `json:"to_seq,omitempty"`
	Messages int    `json:"messages,omitempty"`
	Before   int    `json:"before_tokens,omitempty"`
	After    int    `json:"after_tokens,omitempty"`
}

func jobOf(e channel.Event) jobAnswer {
	return jobAnswer{string(e.State), e.Error, e.ID, e.From, e.To, e.Messages, e.BeforeTokens, e.AfterTokens}
}

func (s *Server) compact(r *request, c *store.Conversation) (any, error) {
	var b compactBody
	if err := r.decode(&b); err != nil {
		return nil, err
	}
	switch {
	case utf8.RuneCountInString(b.Focus) > maxFocus:
		return nil, problem(http.StatusUnprocessableEntity, "focus: must be at most %d characters.", maxFocus)
	case b.Keep != nil && (*b.Keep < 0 || *b.Keep > maxKeep):
		return nil, problem(http.StatusUnprocessableEntity, "keep_last_n = %d: must be from 0 to %d.", *b.Keep, maxKeep)
	}
	if now, _ := s.operator.Activity(c.Name()); now.Summarizing {
		return nil, problem(http.StatusConflict, "A compaction is running already. Wait for its event, or for summarizing to end.")
	}
	with, err := b.settings()
	if err != nil {
		return nil, problem(http.StatusUnprocessableEntity, "%s", err)
	}
	began, err := s.operator.Compact(r.Context(), c.Name(), b.Focus, with)
	if err != nil {
		return nil, err
	}
	status := http.StatusOK
	if began.State == compactor.EventStarted || began.State == compactor.EventScheduled {
		status = http.StatusAccepted
	}
	return answered{status, jobOf(began)}, nil
}

// approveBody answers whether a tool may be called.
type approveBody struct {
	Allow *bool `json:"allow"`
}

func (s *Server) approve(r *request, c *store.Conversation) (any, error) {
	var b approveBody
	if err := r.decode(&b); err != nil {
		return nil, err
	}
	if b.Allow == nil {
		return nil, problem(http.StatusUnprocessableEntity, "allow: must be true or false.")
	}
	words, ok := s.operator.Approve(c.Name(), r.PathValue("code"), config.WebOwner, *b.Allow)
	if !ok {
		return nil, problem(http.StatusNotFound, "This call is not waiting for an answer, or no longer.")
	}
	return doneAnswer{Done: true, Reason: words}, nil
}

func (s *Server) undo(r *request, c *store.Conversation) (any, error) {
	undone, err := s.operator.Undo(r.Context(), c.Name())
	return jobOf(undone), err
}

func (s *Server) newSession(r *request, c *store.Conversation) (any, error) {
	wanted, later, err := s.operator.StartSession(r.Context(), c.Name())
	switch {
	case err != nil:
		return nil, err
	case !wanted:
		return doneAnswer{Reason: "This session is already new: nothing has been said since it began."}, nil
	case later:
		return answered{http.StatusAccepted, doneAnswer{true, "The new session starts once the earlier messages are answered."}}, nil
	}
	return doneAnswer{Done: true}, nil
}

func (s *Server) pause(r *request, c *store.Conversation) (any, error) {
	return doneAnswer{Done: true}, s.operator.Pause(r.Context(), c.Name(), config.WebOwner)
}

func (s *Server) resume(r *request, c *store.Conversation) (any, error) {
	if err := s.operator.Resume(r.Context(), c.Name()); err != nil {
		return nil, err
	}
	a := doneAnswer{Done: true}
	_, all, err := s.operator.Paused(r.Context(), c.Name())
	if all {
		a.Reason = "The whole bot is still paused; /resume everywhere ends that."
	}
	return a, err
}

// settingsAnswer has the compaction settings of a conversation.
type settingsAnswer struct {
	Settings []channel.Setting `json:"settings"`
	Ignored  []string          `json:"ignored" jsonschema:"what is set here and does not go with the settings file"`
}

func (s *Server) showSettings(r *request, c *store.Conversation) (any, error) {
	all, left, err := s.operator.Settings(r.Context(), c.Name())
	return settingsAnswer{all, append([]string{}, left...)}, err
}

func (s *Server) putSettings(r *request, c *store.Conversation) (any, error) {
	var body map[string]json.RawMessage
	if err := r.decode(&body); err != nil {
		return nil, err
	}
	values := make(map[string]*string, len(body))
	for key, raw := range body {
		text, err := settingText(raw)
		if err != nil {
			return nil, problem(http.StatusUnprocessableEntity, "%s: must be a number, a text, true, false or null.", key)
		}
		values[key] = text
	}
	if len(values) == 0 {
		return nil, problem(http.StatusUnprocessableEntity, "Name at least one setting: {\"background_threshold\": 0.7}.")
	}
	if err := s.operator.Set(r.Context(), c.Name(), values, config.WebOwner); err != nil {
		return nil, err
	}
	if now, open := s.operator.Activity(c.Name()); open {
		s.o.Events.publishUsage(c.Name(), now.Used, now.Window)
	}
	return s.showSettings(r, c)
}

// settingText returns a JSON value in the notation of settings; nil for null.
func settingText(raw json.RawMessage) (*string, error) {
	var text string
	switch {
	case string(raw) == "null":
		return nil, nil
	case raw[0] == '{' || raw[0] == '[':
		return nil, errors.New("a list or an object")
	case raw[0] != '"':
		text = string(raw)
	default:
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
	}
	return &text, nil
}
