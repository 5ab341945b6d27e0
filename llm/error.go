package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Kind classifies a provider's failures by what the caller can do about them.
type Kind string

// The kinds of failure.
const (
	KindRateLimited Kind = "rate limited" // wait RetryAfter
	KindOverloaded  Kind = "overloaded"   // 5xx and similar: try again later
	KindUnreachable Kind = "unreachable"  // no connection, reset, timeout
	KindOverflow    Kind = "overflow"     // the prompt is too long; Limit if the provider stated it
	KindAuth        Kind = "auth"         // 401, 403: the key is wrong
	KindBadRequest  Kind = "bad request"  // the provider will never accept this request
	KindTruncated   Kind = "truncated"    // the answer broke off: half an answer is not an answer
	KindFiltered    Kind = "filtered"     // the provider's filter refused the prompt or withheld the answer

	KindQuota        Kind = "quota exhausted" // the account has no credit: retries are useless
	KindUnknownModel Kind = "unknown model"   // the server does not have the model
	KindWrongAddress Kind = "wrong address"   // there is no model server at the address
)

// Kinds lists all kinds.
var Kinds = []Kind{
	KindRateLimited, KindOverloaded, KindUnreachable, KindOverflow, KindAuth, KindBadRequest, KindTruncated, KindFiltered,
	KindQuota, KindUnknownModel, KindWrongAddress,
}

// Error is a provider's failure.
type Error struct {
	Kind       Kind
	Status     int           // HTTP status; 0 if there was none
	Message    string        // the provider's text, for the log; never shown in a chat
	RetryAfter time.Duration // as the provider requested; 0 if it did not
	Limit      int           // the window in tokens, as an overflow stated it; 0: it did not
	Prompt     int           // the prompt's tokens, as an overflow counted them; 0: it did not
	Err        error         // the underlying error, if any

	Where Where // set by Located
}

// Where identifies the model and server that failed: for the log, never for a chat.
type Where struct {
	Model   string
	Address string   // without user, password and query
	Key     string   // where the API key comes from, or should: "OPENAI_API_KEY"; "": unknown
	NoKey   bool     // no key is set
	Offered []string // for an unknown model: what the server offers instead, most similar first
}

// Located returns err with Where set; unchanged if it has one, or is not a provider's failure.
func Located(err error, where Where) error {
	e := of(err)
	if e.Kind == "" || e.Where.Model != "" || e.Where.Address != "" {
		return err
	}
	e.Where = where
	return &e
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
	return slices.Contains([]Kind{KindRateLimited, KindOverloaded, KindUnreachable, KindTruncated}, e.Kind)
}

// LongestWait is the longest pause between two attempts. If a provider asks for more, there is no second attempt.
const LongestWait = time.Minute

// The causes of KindUnreachable that are no failures of the network, and of a context of WatchWork that ended.
var (
	ErrSilent = fmt.Errorf("the model sent nothing for too long: %w", context.DeadlineExceeded)
	ErrLate   = fmt.Errorf("the model took too long: %w", context.DeadlineExceeded)
)

// ErrStalled is the cause of KindTruncated if the server went on with the connection, but not with the answer.
var ErrStalled = errors.New("the server sent no more of it")

// WatchWork returns a context that ends if alive is not called for idle, because of ErrSilent, or after longest, because
// of ErrLate. It is for work of one or more requests, whose Request.Alive is alive. stop must be called.
func WatchWork(ctx context.Context, idle, longest time.Duration) (_ context.Context, alive, stop func()) {
	ctx, late := context.WithTimeoutCause(ctx, longest, ErrLate)
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(idle, func() { cancel(ErrSilent) })
	return ctx, func() { timer.Reset(idle) }, func() {
		timer.Stop()
		cancel(nil)
		late()
	}
}

// Passes reports whether an immediate retry is worthwhile: no longer wait is requested, and there is time left.
func (e *Error) Passes() bool {
	return e.Temporary() && e.RetryAfter <= LongestWait && !errors.Is(e.Err, ErrLate)
}

// of returns a provider's failure, the zero Error for any other.
func of(err error) Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return *e
	}
	return Error{}
}

// PromptOf returns how many tokens the prompt of an overflow had; 0 if unknown.
func PromptOf(err error) int { return of(err).Prompt }

// KindOf returns the kind of a provider's failure, "" for any other error.
func KindOf(err error) Kind { return of(err).Kind }

// OfServer reports whether err is a failure of the provider that would affect any request, not only this one.
func OfServer(err error) bool {
	e := of(err)
	return e.Temporary() || slices.Contains([]Kind{KindAuth, KindQuota, KindUnknownModel, KindWrongAddress}, e.Kind)
}

// ErrTooLong is wrapped by the error for an answer that is too long to be read.
var ErrTooLong = errors.New("the answer is too long")

// TooLong returns the error for an answer with more than limit of what. The same request would get the same answer.
func TooLong(limit int, what string) *Error {
	return &Error{Kind: KindBadRequest, Message: fmt.Sprintf("the answer is longer than %d %s", limit, what), Err: ErrTooLong}
}

// Truncated returns the error for an answer whose rest is missing or unreadable.
func Truncated(err error) *Error {
	return &Error{Kind: KindTruncated, Message: "the answer broke off: " + err.Error(), Err: err}
}
