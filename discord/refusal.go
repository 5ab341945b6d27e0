// Errors of the REST API, and whether a retry may help.

package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"cairn/channel"
)

// refusal is an error response of the REST API.
type refusal struct {
	what    string // was asked
	status  int    // HTTP's
	code    int    // Discord's own; 0: none, as when a proxy answered
	message string
	after   time.Duration // of a 429: how long to wait
	global  bool          // the 429 is for all routes
	said    bool          // Discord answered, not a proxy
	held    bool          // back by limits; the request was not sent
}

// Codes of refusals (Discord, Opcodes and Status Codes: JSON Error Codes).
const (
	codeUnknownMessage = 10008
	codeNotPermitted   = 50013
	codeAnswered       = 40060  // the interaction has been acknowledged
	codeNoReplyHere    = 160002 // cannot reply without permission to read message history
)

// refusalOf reads what it can of an answer.
func refusalOf(c call, resp *http.Response, body []byte) *refusal {
	no := &refusal{what: c.what(), status: resp.StatusCode}
	var said struct {
		Message    string  `json:"message"`
		Code       int     `json:"code"`
		RetryAfter float64 `json:"retry_after"`
		Global     bool    `json:"global"`
	}
	if resp.StatusCode >= 400 && json.Unmarshal(body, &said) == nil {
		no.said, no.code, no.message = said.Message != "", said.Code, said.Message
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		no.global = said.Global || resp.Header.Get("X-RateLimit-Global") == "true"
		no.after = max(time.Duration(said.RetryAfter*float64(time.Second)), 0)
		if no.after == 0 {
			no.after = seconds(resp.Header.Get("Retry-After"))
		}
		if no.after == 0 {
			no.after = time.Second
		}
	}
	return no
}

func (no *refusal) Error() string {
	text := fmt.Sprintf("%s: HTTP %d", no.what, no.status)
	if no.code != 0 {
		text += fmt.Sprintf(", code %d", no.code)
	}
	if no.message != "" {
		text += fmt.Sprintf(", %.100s", no.message)
	}
	return text
}

// Is reports channel.ErrGone for a refusal by Discord itself that a retry would meet again.
func (no *refusal) Is(target error) bool {
	final := no.status >= 400 && no.status < 500 && no.said
	switch no.status {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		final = false
	}
	return target == channel.ErrGone && final
}

// refusedWith reports whether err is Discord's refusal of that code.
func refusedWith(err error, code int) bool {
	var no *refusal
	return errors.As(err, &no) && no.code == code
}

// limitedFor returns how long a 429 asks to wait; 0: err is none.
func limitedFor(err error) time.Duration {
	var no *refusal
	if errors.As(err, &no) && no.status == http.StatusTooManyRequests {
		return max(no.after, time.Millisecond)
	}
	return 0
}

// isRefusal reports whether it is certain that the request had no effect.
func isRefusal(err error) bool {
	var no *refusal
	return errors.As(err, &no) && no.status < 500
}
