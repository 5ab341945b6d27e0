// What a provider's failure means and what to do about it: one table for chats, summaries and the log.

package llm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/network"
)

// Remedy explains a provider's failure. Person contains no address, key or provider's words; Operator no key.
type Remedy struct {
	Reason   string // a clause: "the model is overloaded"
	Person   string // for the person who wrote: what happened and what to do
	Operator string // for the log: what the operator can do
}

// cause is one row of the table. The names in braces in person and operator are those of RemedyOf.
type cause struct {
	is                       func(e *Error) bool
	reason, person, operator string
}

// Parts of the texts for people; those in braces are filled in, see RemedyOf.
const (
	theKey, theWait = "{key}", "{wait}"
	messageKept     = "Your message is saved; "
)

// causes is the table; the first row that applies explains a failure.
var causes = []cause{
	{
		ofKind(KindQuota), "the account at the model's provider has no credit left",
		"The account at the model's provider has no credit left, so I cannot answer. " + messageKept + "the bot's operator must add credit or raise the account's limit.",
		"add credit to the account of {key}, or raise its spending limit; retries do not help",
	},
	{
		func(e *Error) bool { return e.RetryAfter > LongestWait }, "the model's server asks to wait",
		"The model's server asks me to wait. " + messageKept + "ask again in " + theWait + ".",
		"wait for {wait}, or raise the account's rate limit",
	},
	{
		func(e *Error) bool {
			return e.Kind == KindOverloaded && e.Status >= 500 && e.Status != 503 && e.Status != 529
		},
		"the model's server has problems",
		"The model's server has problems right now. " + messageKept + "ask again in a minute.",
		"check the log or the status page of the server; the request was correct",
	},
	{
		func(e *Error) bool { return e.Kind == KindOverloaded || e.Kind == KindRateLimited }, "the model is overloaded",
		"The model is overloaded right now. " + messageKept + "ask again in a minute.",
		"the server is overloaded or limits the rate of requests: ask again later, raise the account's rate limit, or lower calls_per_hour and workers",
	},
	{
		func(e *Error) bool { return errors.Is(e.Err, ErrLate) || errors.Is(e.Err, ErrSilent) }, "the model took too long",
		"The model took too long to answer. " + messageKept + "ask again in a minute.",
		"the server accepts requests but does not answer in time: check its load, or choose a smaller model",
	},
	{
		func(e *Error) bool { return isProxy(e.Err) }, "the proxy to the model cannot be reached",
		"I cannot reach the model right now. " + messageKept + "ask again in a minute.",
		"start the proxy that the error names, or correct or unset its variable",
	},
	{
		ofKind(KindUnreachable), "the model cannot be reached",
		"I cannot reach the model right now. " + messageKept + "ask again in a minute.",
		"start the server at {address}, or correct base_url; check the network and DNS",
	},
	{
		func(e *Error) bool { return errors.Is(e.Err, ErrStalled) }, "the model's answer broke off",
		"The model's answer was incomplete. " + messageKept + "ask again in a minute.",
		"the server stopped in the middle of an answer: check its log and its load; if it only pauses that long, raise stream_idle",
	},
	{
		ofKind(KindTruncated), "the model's answer broke off",
		"The model's answer was incomplete. " + messageKept + "ask again in a minute.",
		"the server closed the connection before the end of the answer, or sent one that cannot be read: check its log, and any proxies in front of it",
	},
	{
		ofKind(KindFiltered), "the provider's filter withheld the answer",
		"The model provider's filter withheld the answer. " + messageKept + "ask again in other words.",
		"rephrase the question, or change the content filter in the provider's account",
	},
	{
		func(e *Error) bool { return e.Kind == KindAuth && e.Where.NoKey }, "the model's server requires an API key",
		"The model's server requires an API key and I have none, so I cannot answer. " + messageKept + "the bot's operator must set " + theKey + ".",
		"set {key}: the server requires a key and there is none",
	},
	{
		ofKind(KindAuth), "the model's server rejected the API key",
		"The model's server rejects my API key, so I cannot answer. " + messageKept + "the bot's operator must check " + theKey + ".",
		"check {key}: it is wrong, has expired, or may not use this model",
	},
	{
		ofKind(KindUnknownModel), "the model's server does not have the model",
		"The model's server does not have the model I am set to use. " + messageKept + "the bot's operator must choose another.",
		"set model to one that the server has: {offered}",
	},
	{
		ofKind(KindWrongAddress), "there is no model server at the address",
		"There is no model at the address I am set to use. " + messageKept + "the bot's operator must correct base_url.",
		"correct base_url ({address}); most servers have their API under /v1, as http://localhost:11434/v1, those that speak Anthropic's Messages without it",
	},
	{
		func(e *Error) bool { return RefusesTools(e) }, "the model's server does not accept tools",
		"The model's server does not let the model call tools. " + messageKept + "the log tells the bot's operator why.",
		"choose a model that can call tools, or start the server so that it allows them (vLLM: --enable-auto-tool-choice; llama.cpp: --jinja)",
	},
	{
		ofKind(KindOverflow), "the messages are too long for the summarizing model",
		"The conversation is too long for the model even after making room. " + messageKept + "try /compact, or /new to start over.",
		"set context_window to the server's window; most local servers can be started with a larger one",
	},
	{
		ofKind(KindBadRequest), "the model's server refused the request",
		"The model's server refused my request. " + messageKept + "the log tells the bot's operator why.",
		"the server's message says what it does not accept; try another wire, or run `cairn doctor`",
	},
}

func isProxy(err error) bool {
	_, is := errors.AsType[*network.ProxyError](err)
	return is
}

func ofKind(kind Kind) func(*Error) bool { return func(e *Error) bool { return e.Kind == kind } }

// RemedyOf explains a provider's failure; ok is false for any other error.
func RemedyOf(err error) (r Remedy, ok bool) {
	e := of(err)
	i := slices.IndexFunc(causes, func(c cause) bool { return c.is(&e) })
	if i < 0 {
		return Remedy{}, false
	}
	filled := strings.NewReplacer(
		"{key}", cmp.Or(e.Where.Key, "the API key"), "{address}", cmp.Or(e.Where.Address, "the configured address"),
		"{wait}", InMinutes(e.RetryAfter), "{offered}", cmp.Or(strings.Join(e.Where.Offered, ", "), "`cairn models` lists them"))
	return Remedy{causes[i].reason, filled.Replace(causes[i].person), filled.Replace(causes[i].operator)}, true
}

// LogAttrs returns the attributes that explain a failure in the log: a provider's with model, address and remedy.
func LogAttrs(err error) []any {
	attrs := []any{"error", err}
	r, _ := RemedyOf(err)
	where := of(err).Where
	for _, a := range [][2]string{{"model", where.Model}, {"address", where.Address}, {"remedy", r.Operator}} {
		if a[1] != "" {
			attrs = append(attrs, a[0], a[1])
		}
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
