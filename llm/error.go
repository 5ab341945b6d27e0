package llm

import (
	"errors"
	"fmt"
	"time"
)

// Kind sorts a provider's failures by what the caller can do about them.
type Kind string

// The kinds of failure.
const (
	KindRateLimited Kind = "rate limited" // wait RetryAfter
	KindOverloaded  Kind = "overloaded"   // 5xx and the like: try again later
	KindUnreachable Kind = "unreachable"  // no connection, reset, time out
	KindOverflow    Kind = "overflow"     // the prompt is too long; Limit when the provider said it
	KindAuth        Kind = "auth"         // 401, 403: the key is wrong
	KindBadRequest  Kind = "bad request"  // the provider will never take this request
	KindTruncated   Kind = "truncated"    // the answer broke off: half an answer is no answer

	KindQuota        Kind = "quota exhausted" // the account has no credit: a retry is useless
	KindUnknownModel Kind = "unknown model"   // the server does not have the model
	KindWrongAddress Kind = "wrong address"   // what answers there is no model's server
)

// Kinds are all of them.
var Kinds = []Kind{
	KindRateLimited, KindOverloaded, KindUnreachable, KindOverflow, KindAuth, KindBadRequest, KindTruncated,
	KindQuota, KindUnknownModel, KindWrongAddress,
}

// Error is a provider's failure.
type Error struct {
	Kind       Kind
	Status     int           // HTTP status; 0 when there was none
	Message    string        // the provider's words, for the log; never shown in a chat
	RetryAfter time.Duration // as the provider asked; 0 when it did not
	Limit      int           // the window in tokens that an overflow named; 0: it named none
	Prompt     int           // the prompt's tokens as an overflow counted them; 0 when it did not
	Err        error         // what lies below, if anything

	Where Where // filled in by Located; empty where nobody did
}

// Where says which model of which server failed: for the log, never for a chat.
type Where struct {
	Model   string
	Address string   // without user, password and query
	Key     string   // where the API key comes from, or should: "OPENAI_API_KEY"; empty: unknown
	NoKey   bool     // there is none
	Wire    string   // how the server is spoken to; empty: unknown
	Offered []string // of an unknown model: what the server offers instead, the nearest first
}

// Located returns err with where put into it. Errors that are no provider's failure,
// and those that say already where they come from, stay as they are.
func Located(err error, where Where) error {
	var e *Error
	if !errors.As(err, &e) || e.Where.Model != "" || e.Where.Address != "" {
		return err
	}
	located := *e
	located.Where = where
	return &located
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("model: %s (HTTP %d): %s", e.Kind, e.Status, e.Message)
	}
	return fmt.Sprintf("model: %s: %s", e.Kind, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case KindRateLimited, KindOverloaded, KindUnreachable, KindTruncated:
		return true
	}
	return false
}

// Passes reports whether it is worth trying again at once. It is not where the
// provider asks for a longer wait, or where a whole answer's time is used up.
func (e *Error) Passes() bool {
	return e.Temporary() && e.RetryAfter <= longestWait && !errors.Is(e.Err, errLate)
}

// PromptOf returns how many tokens the prompt of an overflow had, 0 if the provider
// did not say and for any other error.
func PromptOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Prompt
	}
	return 0
}

// KindOf returns the kind of a provider's failure, "" for any other error.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}
