// The client of the REST API, and its errors.

package discord

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/connector/platform"
)

const (
	requestTimeout = 15 * time.Second // of one attempt
	maxTries       = 4                // of a request that fails in the server or the network
	maxWaits       = 6                // of a request that Discord refuses because of a rate limit
)

// rest is a REST client. discordgo's ignores contexts while it waits, and repeats requests that may have taken effect.
type rest struct {
	base   string // of the server, without path
	token  string
	client *http.Client
	limits *limits
}

func newREST(base, token string, clock *platform.Clock) *rest {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	last := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the API does not redirect
	client := &http.Client{Transport: platform.Bounded{Transport: transport, Clock: clock}, CheckRedirect: last}
	return &rest{base: base, token: token, client: client, limits: newLimits()}
}

// call is one request. It may be repeated after a server error, so a POST needs a nonce, once or notIdempotent.
type call struct {
	method      string
	path        string // below /api/v9, with the query
	body        any    // sent as JSON; nil: nothing
	into        any    // the JSON of the response is decoded into it; nil: ignored
	once        bool   // one try, without waiting for rate limits
	background  bool   // leaves room for other requests
	tokenInPath bool   // its path contains a token, so the bot's token and the global rate limit do not apply

	notIdempotent bool // repeated only after a rate limit, when it certainly had no effect
}

// do makes a request. It waits for rate limits and retries failures, both a limited number of times.
func (r *rest) do(ctx context.Context, c call) error {
	pause := platform.Backoff{First: 300 * time.Millisecond, Max: time.Minute}
	tries := 1
	waits := 0
	for {
		err := r.try(ctx, c)
		refused := refusalIn(err)
		wait := pause.Next()
		switch {
		case err == nil || c.once || ctx.Err() != nil:
			return err
		case refused.after > 0:
			wait = refused.after
			if !refused.unsent { // a request held back by limits will get its turn
				waits++
			}
		case hadNoEffect(err), c.notIdempotent:
			return err
		default:
			tries++
		}
		if tries > maxTries || waits > maxWaits || platform.Sleep(ctx, wait) != nil {
			return cmp.Or(ctx.Err(), err)
		}
	}
}

func (r *rest) try(ctx context.Context, c call) error {
	if wait := r.limits.refused(c); wait > 0 {
		return refusal{status: http.StatusTooManyRequests, request: c.describe(), message: "held back", after: wait, unsent: true}
	}
	if err := r.limits.wait(ctx, c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := r.send(ctx, c)
	var body []byte
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		body, err = io.ReadAll(resp.Body)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.describe(), platform.WithoutURL(err))
	}
	response := refusalOf(c, resp, body)
	r.limits.learn(c, response, resp.Header)
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return response
	case c.into == nil || len(body) == 0:
		return nil
	}
	if err := platform.Decode(body, c.into); err != nil {
		return fmt.Errorf("%s: %w", c.describe(), err)
	}
	return nil
}

func (r *rest) send(ctx context.Context, c call) (*http.Response, error) {
	var body []byte
	if c.body != nil {
		body, _ = json.Marshal(c.body) // it can always be encoded
	}
	q, err := http.NewRequestWithContext(ctx, c.method, r.base+"/api/v"+discordgo.APIVersion+c.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if c.body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	if !c.tokenInPath {
		q.Header.Set("Authorization", "Bot "+r.token)
	}
	q.Header.Set("User-Agent", userAgent)
	return r.client.Do(q)
}

// fetch reads a file; nothing if it is not available. Its URL is signed, so the token is not sent.
func (r *rest) fetch(ctx context.Context, address string) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("User-Agent", userAgent)
	resp, err := r.client.Do(q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return nil, fmt.Errorf("HTTP %d", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, nil
	}
	return io.ReadAll(resp.Body)
}

// userAgent has the form that Discord requires (Reference: User Agent): the address of the program's module, and its version.
var userAgent = func() string {
	build, _ := debug.ReadBuildInfo()
	main := cmp.Or(build, new(debug.BuildInfo)).Main
	return fmt.Sprintf("DiscordBot (https://%s, %s)", cmp.Or(main.Path, "cairn"), cmp.Or(strings.Trim(main.Version, "()"), "devel"))
}()

// route returns the key of a rate limit: each method per channel, whichever the message (Discord, Rate Limits).
func (c call) route() string {
	path, _, _ := strings.Cut(c.path, "?")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if i > 2 && number(part) > 0 {
			parts[i] = "*"
		}
	}
	return c.method + " " + strings.Join(parts, "/")
}

// describe names a request in errors, without the tokens that some paths contain.
func (c call) describe() string {
	if c.tokenInPath {
		return c.method + " an answer to an interaction"
	}
	return c.method + " " + c.path
}

type refusal struct {
	request     string // what was requested; see call.describe
	status      int    // HTTP status
	code        int    // Discord's error code; 0: none, e.g. when a proxy responded
	message     string
	after       time.Duration // how long a 429 asks to wait; 0: it is none
	global      bool          // the 429 is about all routes
	fromDiscord bool          // Discord responded, not a proxy
	unsent      bool          // limits held the request back
}

// Error codes (Discord, Opcodes and Status Codes: JSON Error Codes).
const (
	codeUnknownMessage = 10008
	codeNotPermitted   = 50013
	codeInvalidForm    = 50035
	codeAnswered       = 40060  // the interaction was already acknowledged
	codeCannotReply    = 160002 // cannot reply without permission to read message history
	codeHasThread      = 160004 // a thread has already been created for this message
)

// refusalOf reads a response into a refusal, as far as it has the expected form.
func refusalOf(c call, resp *http.Response, body []byte) refusal {
	r := refusal{request: c.describe(), status: resp.StatusCode}
	var answer struct {
		Message    string  `json:"message"`
		Code       int     `json:"code"`
		RetryAfter float64 `json:"retry_after"`
		Global     bool    `json:"global"`
	}
	if resp.StatusCode >= 400 && json.Unmarshal(body, &answer) == nil {
		r.fromDiscord = answer.Message != ""
		r.code = answer.Code
		r.message = answer.Message
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		// Discord's limits have a retry_after (Rate Limits: Exceeding A Rate Limit); a ban of the address has none.
		r.global = answer.Global || resp.Header.Get("X-RateLimit-Global") == "true" || answer.RetryAfter == 0
		header, _ := strconv.ParseFloat(resp.Header.Get("Retry-After"), 64) // an invalid one counts as missing
		r.after = time.Duration(cmp.Or(answer.RetryAfter, header) * float64(time.Second))
		if r.after <= 0 {
			r.after = time.Second
		}
	}
	return r
}

func (r refusal) Error() string {
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
func (r refusal) Is(target error) bool {
	passing := []int{http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests}
	return target == channel.ErrGone && r.fromDiscord && r.status >= 400 && r.status < 500 && !slices.Contains(passing, r.status)
}

// refusalIn returns the refusal in err; the zero value if there is none.
func refusalIn(err error) (r refusal) {
	errors.As(err, &r)
	return r
}

// hadNoEffect reports whether a request certainly had no effect.
func hadNoEffect(err error) bool {
	status := refusalIn(err).status
	return status > 0 && status < 500
}
