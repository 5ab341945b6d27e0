// Errors of the REST API, and whether a retry may help.

package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"cairn/channel"
)

// refusal is an error response of the REST API.
type refusal struct {
	request     string // what was requested; see call.describe
	status      int    // HTTP status
	code        int    // Discord's error code; 0: none, e.g. when a proxy responded
	message     string
	after       time.Duration // how long a 429 asks to wait
	global      bool          // the 429 is about all routes
	fromDiscord bool          // Discord responded, not a proxy
	unsent      bool          // limits held the request back
}

// Error codes (Discord, Opcodes and Status Codes: JSON Error Codes).
const (
	codeUnknownMessage = 10008
	codeNotPermitted   = 50013
	codeAnswered       = 40060  // the interaction was already acknowledged
	codeNoReplyHere    = 160002 // cannot reply without permission to read message history
)

// refusalOf reads a response into a refusal, as far as it has the expected form.
func refusalOf(c call, resp *http.Response, body []byte) *refusal {
	r := &refusal{request: c.describe(), status: resp.StatusCode}
	var answer struct {
		Message    string  `json:"message"`
		Code       int     `json:"code"`
		RetryAfter float64 `json:"retry_after"`
		Global     bool    `json:"global"`
	}
	if resp.StatusCode >= 400 && json.Unmarshal(body, &answer) == nil {
		r.fromDiscord, r.code, r.message = answer.Message != "", answer.Code, answer.Message
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		// Discord's own limits have a retry_after (Rate Limits: Exceeding A Rate Limit); a ban of the address has none.
		r.global = answer.Global || resp.Header.Get("X-RateLimit-Global") == "true" || answer.RetryAfter == 0
		wait := answer.RetryAfter
		if wait == 0 {
			wait, _ = strconv.ParseFloat(resp.Header.Get("Retry-After"), 64) // an invalid one counts as missing
		}
		if r.after = time.Duration(wait * float64(time.Second)); r.after <= 0 {
			r.after = time.Second
		}
	}
	return r
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("%s: HTTP %d", r.request, r.status)
	if r.code != 0 {
		text += fmt.Sprintf(", code %d", r.code)
	}
	if r.message != "" {
		text += fmt.Sprintf(", %.100s", r.message)
	}
	return text
}

// Is makes a refusal by Discord itself that would recur on a retry match channel.ErrGone.
func (r *refusal) Is(target error) bool {
	final := r.status >= 400 && r.status < 500 && r.fromDiscord
	switch r.status {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		final = false
	}
	return target == channel.ErrGone && final
}

// refusedWith reports whether err is a refusal with this error code of Discord's.
func refusedWith(err error, code int) bool {
	var r *refusal
	return errors.As(err, &r) && r.code == code
}

// rateLimitWait returns how long to wait if err is a 429, else 0.
func rateLimitWait(err error) time.Duration {
	if r, ok := errors.AsType[*refusal](err); ok && r.status == http.StatusTooManyRequests {
		return max(r.after, time.Millisecond)
	}
	return 0
}

// isRefusal reports whether err means that the request certainly had no effect.
func isRefusal(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.status < 500
}
