// Finds out whether a server that fails without a reason does so because the prompt is too long: llama.cpp, LM Studio and
// proxies may report that as a failure of their own, or as an answer without content.

package provider

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"cairn/internal/tokens"
	"cairn/llm"
)

// suspicion counts failures of one conversation in a row that have no reason and are alike.
type suspicion struct {
	class string
	count int
}

const (
	likeFailures    = 2    // so many raise the suspicion
	leastRefused    = 1000 // tokens of the smallest prompt that may be too long: no model has a smaller window
	maxSuspicions   = 1000 // conversations
	probeTokens     = 256  // of the answer to a short request
	probeQuestion   = "Answer with one word: are you there?"
	failureOfServer = "failure of the server"
	withoutContent  = "answer without content"
)

// errInferred is in an overflow that no server has reported.
var errInferred = errors.New("inferred from failures without a reason")

// unexplained returns the class of an outcome without a reason; "" for any other. content is the number of bytes that the
// answer had.
func unexplained(resp llm.Response, err error, content int) string {
	refused, isRefused := errors.AsType[*llm.Error](err)
	waits := []int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusGatewayTimeout, 529} // a reason
	switch {
	case err == nil && content == 0 && resp.Usage.Completion <= 1 && resp.FinishReason != llm.FinishFilter,
		isRefused && refused.Kind == llm.KindTruncated && content == 0:
		return withoutContent
	case isRefused && refused.Kind == llm.KindOverloaded && refused.RetryAfter == 0 && !slices.Contains(waits, refused.Status):
		return failureOfServer
	}
	return ""
}

// noteOutcome counts failures of a class; "": it was another outcome.
func (c *Client) noteOutcome(req llm.Request, class string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.suspicions[req.CacheKey]
	switch {
	case class == "":
		delete(c.suspicions, req.CacheKey)
		return
	case s.class != class:
		s = suspicion{class: class}
	}
	if len(c.suspicions) >= maxSuspicions {
		clear(c.suspicions)
	}
	s.count++
	c.suspicions[req.CacheKey] = s
}

// suspected returns the class of the failures that raise the suspicion; "" if there are none.
func (c *Client) suspected(req llm.Request) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.suspicions[req.CacheKey]; s.count >= likeFailures {
		return s.class
	}
	return ""
}

// maySuspect reports whether the prompt of a request that just failed may be too long. If one as long was answered
// before, the server probably fails for another reason: only the next failure counts.
func (c *Client) maySuspect(req llm.Request) bool {
	if c.suspected(req) == "" || !c.canBeTooLong(req) {
		return false
	}
	size := promptBytes(req)
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.longest >= size
	if before {
		c.longest = 0
	}
	return !before
}

// canBeTooLong reports whether much of a prompt is conversation: with less, system prompt and tools would not fit either.
func (c *Client) canBeTooLong(req llm.Request) bool {
	size := c.promptTokens(req)
	return size >= leastRefused && size >= 2*c.promptTokens(short(req))
}

// short returns a short request of the same form.
func short(req llm.Request) llm.Request {
	question := llm.Message{Role: llm.RoleUser, Text: probeQuestion}
	head := req.Messages[:min(1, len(req.Messages))]
	if len(head) == 0 || head[0].Role != llm.RoleSystem {
		head = nil
	}
	req.Messages = append(slices.Clone(head), question)
	req.Head = len(head)
	req.CacheKey = "cairn-short"
	req.MaxTokens = probeTokens
	return req
}

// A short request shows whether a server fails for any request, or calls any prompt too long.
type shortOutcome int

const (
	shortUnknown shortOutcome = iota
	shortAnswered
	shortFailed
	shortRefused // as too long
)

// shortTTL is how long the outcome of a short request is remembered: until then it would be the same.
const shortTTL = time.Minute

// lastShort returns the outcome of the last short request, unless that was long ago.
func (c *Client) lastShort() shortOutcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.shortAt) >= shortTTL {
		return shortUnknown
	}
	return c.short
}

// tryShort makes a short request of the same form.
func (c *Client) tryShort(ctx context.Context, req llm.Request) shortOutcome {
	emitted := false
	resp, err := c.attempt(ctx, short(req), &emitted, 1, nil)
	req.ReportFailed(resp.Usage)
	if ctx.Err() != nil { // the caller has given up, which says nothing about the server
		return shortUnknown
	}
	outcome := shortAnswered
	silent := strings.TrimSpace(resp.Message.Text) == "" && len(resp.Message.Calls) == 0 && resp.Usage.Completion == 0
	switch {
	case llm.KindOf(err) == llm.KindOverflow:
		outcome = shortRefused
	case err != nil || silent:
		outcome = shortFailed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.short = outcome
	c.shortAt = time.Now()
	return outcome
}

// confirmOverflow asks a short request, and then the failed one once more. If only the short one is answered, the
// prompt is too long.
func (c *Client) confirmOverflow(ctx context.Context, req llm.Request, failed llm.Response, failure error, show func(string)) (llm.Response, error) {
	last := c.lastShort()
	if last == shortFailed || last == shortRefused || c.tryShort(ctx, req) != shortAnswered {
		return failed, failure
	}
	if failure == nil {
		req.ReportFailed(failed.Usage)
	}
	emitted := false
	again, failure := c.attempt(ctx, req, &emitted, 1, show)
	class := c.suspected(req)
	if class == "" || emitted {
		return again, failure
	}
	if failure == nil {
		req.ReportFailed(again.Usage)
	}
	c.mu.Lock()
	c.suspicions[req.CacheKey] = suspicion{class, likeFailures - 1} // the window may be much smaller
	c.mu.Unlock()
	overflow := &llm.Error{
		Kind: llm.KindOverflow, Err: errors.Join(errInferred, failure),
		Message: "two times " + class + " for a long prompt, while a short one is answered",
	}
	c.Options.Log.Warn("overflow_inferred", "effect", "the length of the prompt counts as the limit for a day",
		"model", c.Model(), "tokens", c.promptTokens(req), "class", class, "error", failure)
	return llm.Response{}, overflow
}

// overflowed learns the window from an overflow: the number that the server stated, else the length of the prompt,
// unless pictures, whose tokens are unknown, or the system prompt may be the reason. It returns the error.
func (c *Client) overflowed(ctx context.Context, req llm.Request, refused *llm.Error) error {
	pictures := slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return len(m.Images) > 0 })
	switch {
	case refused.Limit > 0:
		c.Learned().Limit(refused.Limit)
	case !c.canBeTooLong(req):
	case c.Learned().Facts().Window == 0 && c.refusesShort(ctx, req, refused):
		return &llm.Error{
			Kind: llm.KindBadRequest, Status: refused.Status, Err: refused,
			Message: "the server says of a short prompt, too, that it is too long: " + refused.Message,
		}
	case !pictures:
		c.Learned().Bound(c.promptTokens(req))
	}
	return refused
}

// refusesShort reports whether a server that called a prompt too long says so of a short one, too. Then the length is not the
// reason, which may be a wrong setting of a proxy, and the conversation need not be cut. An overflow that was inferred is known to
// be one.
func (c *Client) refusesShort(ctx context.Context, req llm.Request, refused *llm.Error) bool {
	if errors.Is(refused, errInferred) {
		return false
	}
	last := c.lastShort()
	if last == shortUnknown || last == shortFailed {
		last = c.tryShort(ctx, req)
	}
	return last == shortRefused
}

// promptBytes returns the length of a prompt without its pictures. Lengths compare two prompts; tokens cannot, since the server's
// counts and estimates by a factor that is still being learned differ.
func promptBytes(req llm.Request) (size int) {
	for _, m := range req.Messages {
		size += len(m.Text) + len(m.Native)
		for _, call := range m.Calls {
			size += len(call.Name) + len(call.Arguments)
		}
	}
	for _, t := range req.Tools {
		size += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return size
}

// promptTokens estimates the tokens of a prompt without its pictures, by the model's own factor.
func (c *Client) promptTokens(req llm.Request) int {
	cost := 0
	for _, m := range req.Messages {
		cost += tokens.PerMessage + tokens.Estimate(m.Text) + tokens.Estimate(string(m.Native))
		for _, call := range m.Calls {
			cost += tokens.Estimate(call.Name) + tokens.Estimate(call.Arguments)
		}
	}
	for _, t := range req.Tools {
		cost += tokens.PerMessage + tokens.Estimate(t.Name) + tokens.Estimate(t.Description) + tokens.Estimate(string(t.Parameters))
	}
	return int(math.Round(float64(cost) * c.Learned().Factor()))
}
