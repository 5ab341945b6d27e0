// What a provider's failure means and what to do about it: one table for chats, summaries and the log.

package llm

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Remedy explains a provider's failure. Person never contains an address, a key or the provider's
// words; Operator may contain an address, never a key.
type Remedy struct {
	Reason   string // a clause: "the model is overloaded"
	Person   string // for the person who asked: what happened and what to do
	Operator string // for the log: what the operator can do
}

// cause is one row of the table.
type cause struct {
	is       func(e *Error) bool
	reason   string
	person   func(e *Error) string
	operator func(e *Error) string
}

const messageKept = "Your message is saved; "

// causes is the table; the first row that applies explains a failure.
var causes = []cause{
	{
		ofKind(KindQuota), "the account at the model's provider has no credit left",
		always("The account at the model's provider has no credit left, so I cannot answer. " + messageKept + "the bot's operator must add credit or raise the account's limit."),
		func(e *Error) string {
			return "add credit to the account, or raise its spending limit" + behindKey(e) + "; retries do not help"
		},
	},
	{
		func(e *Error) bool { return e.RetryAfter > LongestWait }, "the model's server asks to wait",
		func(e *Error) string {
			return "The model's server asks me to wait. " + messageKept + "ask again in " + InMinutes(e.RetryAfter) + "."
		},
		func(e *Error) string {
			return "wait for " + e.RetryAfter.Round(time.Second).String() + ", or raise the account's rate limit"
		},
	},
	{
		ofKind(KindRateLimited), "the model is overloaded",
		always("The model is overloaded right now. " + messageKept + "ask again in a minute."),
		always("the server limits the rate of requests: raise the account's rate limit, or lower calls_per_hour and workers"),
	},
	{
		func(e *Error) bool {
			return e.Kind == KindOverloaded && e.Status >= 500 && e.Status != 503 && e.Status != 529
		},
		"the model's server has problems",
		always("The model's server has problems right now. " + messageKept + "ask again in a minute."),
		always("look at the log or the status page of the server; the request was correct"),
	},
	{
		ofKind(KindOverloaded), "the model is overloaded",
		always("The model is overloaded right now. " + messageKept + "ask again in a minute."),
		always("the server is overloaded: ask again later, or choose another model"),
	},
	{
		func(e *Error) bool { return errors.Is(e.Err, ErrLate) || errors.Is(e.Err, ErrSilent) }, "the model took too long",
		always("The model took too long to answer. " + messageKept + "ask again in a minute."),
		always("the server accepts requests but does not answer in time: check its load, or choose a smaller model"),
	},
	{
		ofKind(KindUnreachable), "the model cannot be reached",
		always("I cannot reach the model right now. " + messageKept + "ask again in a minute."),
		func(e *Error) string {
			return "start the server at " + cmp.Or(e.Where.Address, "the configured address") + ", or correct base_url; check the network and DNS"
		},
	},
	{
		ofKind(KindTruncated), "the model's answer broke off",
		always("The model's answer was incomplete. " + messageKept + "ask again in a minute."),
		always("the server closed the connection before the end of the answer, or sent one that cannot be read: look at its log, and at proxies before it"),
	},
	{
		ofKind(KindFiltered), "the provider's filter withheld the answer",
		always("The model provider's filter withheld the answer. " + messageKept + "ask again in other words."),
		always("rephrase the question, or change the content filter in the provider's account"),
	},
	{
		ofKind(KindAuth), "the model's server rejected the API key",
		func(e *Error) string {
			key := cmp.Or(e.Where.Key, "the API key")
			if e.Where.NoKey {
				return "The model's server requires an API key and I have none, so I cannot answer. " + messageKept + "the bot's operator must set " + key + "."
			}
			return "The model's server rejects my API key, so I cannot answer. " + messageKept + "the bot's operator must check " + key + "."
		},
		func(e *Error) string {
			key := cmp.Or(e.Where.Key, "the API key")
			if e.Where.NoKey {
				return "set " + key + ": the server requires a key and there is none"
			}
			return "check " + key + ": it is wrong, has expired, or may not use this model"
		},
	},
	{
		ofKind(KindUnknownModel), "the model's server does not have the model",
		always("The model's server does not have the model I am set to use. " + messageKept + "the bot's operator must choose another."),
		func(e *Error) string {
			if len(e.Where.Offered) == 0 {
				return "set model to one that the server has: `cairn models` lists them"
			}
			return "set model to one that the server has: " + strings.Join(e.Where.Offered, ", ")
		},
	},
	{
		func(e *Error) bool { return e.Kind == KindWrongAddress || e.Status >= 300 && e.Status < 400 },
		"there is no model's server at the address",
		always("There is no model at the address I am set to use. " + messageKept + "the bot's operator must correct base_url."),
		func(e *Error) string {
			hint := "most servers have their API under /v1, as http://localhost:11434/v1"
			if e.Where.Wire == WireMessages {
				hint = `servers that speak Anthropic's Messages are named without /v1; for others set wire = "auto"`
			}
			return "correct base_url (" + cmp.Or(e.Where.Address, "not set") + "); " + hint
		},
	},
	{
		func(e *Error) bool { return takesNoTools(e.Message) }, "the model's server takes no tools",
		always("The model's server does not let the model call tools. " + messageKept + "the log tells the bot's operator why."),
		always("choose a model that can call tools, or start the server so that it allows them (vLLM: --enable-auto-tool-choice; llama.cpp: --jinja)"),
	},
	{
		ofKind(KindOverflow), "the span is too large for the worker's model",
		always("The conversation is too long for the model even after making room. " + messageKept + "try /compact, or /new to start over."),
		always("set context_window to what the server has; most local servers can be started with a larger one"),
	},
	{
		ofKind(KindBadRequest), "the model's server refused the request",
		always("The model's server refused my request. " + messageKept + "the log tells the bot's operator why."),
		always("the server's message says what it does not accept; try another wire, or run `cairn doctor`"),
	},
}

func ofKind(kind Kind) func(*Error) bool { return func(e *Error) bool { return e.Kind == kind } }

func always(text string) func(*Error) string { return func(*Error) string { return text } }

func behindKey(e *Error) string {
	if e.Where.Key == "" || e.Where.NoKey {
		return ""
	}
	return " (its key is " + e.Where.Key + ")"
}

// RemedyOf explains a provider's failure; ok is false for any other error.
func RemedyOf(err error) (r Remedy, ok bool) {
	var e *Error
	if !errors.As(err, &e) {
		return Remedy{}, false
	}
	for _, c := range causes {
		if c.is(e) {
			return Remedy{c.reason, c.person(e), c.operator(e)}, true
		}
	}
	return Remedy{}, false
}

// LogAttrs returns the attributes with which a log line explains a failure: the error, and for a
// provider's also model, address and remedy.
func LogAttrs(err error) []any {
	attrs := []any{"error", err}
	var e *Error
	if !errors.As(err, &e) {
		return attrs
	}
	if e.Where.Model != "" {
		attrs = append(attrs, "model", e.Where.Model)
	}
	if e.Where.Address != "" {
		attrs = append(attrs, "address", e.Where.Address)
	}
	if r, ok := RemedyOf(err); ok {
		attrs = append(attrs, "remedy", r.Operator)
	}
	return attrs
}

// InMinutes returns a rough duration, in words for people.
func InMinutes(d time.Duration) string {
	switch n := int((d + time.Minute - 1) / time.Minute); {
	case n <= 1:
		return "a minute"
	case n <= 90:
		return fmt.Sprintf("%d minutes", n)
	default:
		return fmt.Sprintf("%d hours", (n+59)/60)
	}
}
