// Converts what a server sends in place of an answer, in whatever form, to one type of error.

package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/internal/lazy"
)

// maxExamined is how many bytes of a refusal's text are examined: searching a megabyte took a second.
const maxExamined = 16 << 10

// Refused returns the error for a server's response. status is 0 for an error inside a stream; header may be nil.
func Refused(status int, header http.Header, body []byte) *Error {
	c := parseComplaint(body)
	if status < 300 && c.status >= 400 && c.status < 600 {
		status = c.status // an error in a response with a success status
	}
	text := strings.Join(c.words, ": ")
	text = text[:min(len(text), maxExamined)]
	over := exceedsMinute().MatchString(text) || matchesAny(overflowTexts(), strings.Join(append(c.codes, text), "\n"))
	e := &Error{Status: status, Message: cmp.Or(Clip(text), http.StatusText(status)), RetryAfter: retryAfter(header, time.Now())}
	switch e.Kind = kindOf(status, c.codes); {
	case over && (e.Kind == KindBadRequest || e.Kind == KindOverloaded), // llama.cpp and gateways send it with 5xx
		e.Kind == KindRateLimited && exceedsMinute().MatchString(text),
		status == http.StatusRequestEntityTooLarge:
		e.Kind = KindOverflow
		e.Prompt = cmp.Or(leastNumber(promptTexts(), text, 0), c.prompt)
		stated, _, _ := strings.Cut(text, "resulting in a maximum input length") // vLLM: the window less the answer
		e.Limit = max(leastNumber(limitTexts(), stated, e.Prompt), c.window)
	case RefusesTools(e), TakesNoImages(e):
		if e.Kind == KindOverloaded { // llama.cpp sends it with 500, and would repeat it
			e.Kind = KindBadRequest
		}
	default:
		e.Kind = refine(e, c.codes, text)
	}
	if e.Temporary() {
		e.RetryAfter = cmp.Or(e.RetryAfter, statedDelay(text))
	}
	return e
}

// kindOf classifies by the status, or by the error's own code. Whatever else is a server's failure, which may pass.
func kindOf(status int, codes []string) Kind {
	switch {
	case status == http.StatusTooManyRequests:
		return KindRateLimited
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return KindOverloaded
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired, status == http.StatusForbidden:
		return KindAuth
	case status >= 400:
		return KindBadRequest
	case status >= 300: // redirects are not followed
		return KindWrongAddress
	}
	is := func(parts string) bool { return regexp.MustCompile(parts).MatchString(strings.Join(codes, "\n")) }
	switch {
	case is("rate_limit|too_many_requests|resource_exhausted|throttl"):
		return KindRateLimited
	case is("auth|api_key|permission|forbidden"):
		return KindAuth
	case is("invalid|not_found|bad_request|unsupported|html"):
		return KindBadRequest
	}
	return KindOverloaded
}

type complaint struct {
	words  []string // for people, outermost first
	codes  []string // for programs, in lower case
	status int      // an HTTP status given as the error's code
	window int      // llama.cpp sends it next to the error
	prompt int      // likewise, the prompt's tokens
	size   int      // bytes of text that were examined
}

func parseComplaint(body []byte) complaint {
	var c complaint
	text := strings.TrimSpace(string(body))
	if strings.HasPrefix(text, "<") { // proxies send pages
		c.codes = []string{"html"}
	}
	c.read(text, 0)
	return c
}

// wordFields are the fields in which servers put text or more JSON, outermost first.
var wordFields = []string{"error", "message", "msg", "detail", "details", "errors", "metadata", "raw"}

// read walks through a server's error, whatever its form: text, lists, nested objects, JSON in a string.
func (c *complaint) read(value any, depth int) {
	if depth > 8 || c.size >= maxExamined {
		return
	}
	switch v := value.(type) {
	case string:
		var inner any
		text := strings.TrimSpace(v)
		if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			if json.Unmarshal([]byte(text), &inner) == nil {
				c.read(inner, depth+1)
				return
			}
		}
		c.size += len(text) + 1 // repeated texts too: each is searched for
		if text != "" && !slices.Contains(c.words, text) {
			c.words = append(c.words, text)
		}
	case []any:
		for _, item := range v {
			c.read(item, depth+1)
		}
	case map[string]any:
		for _, field := range []string{"code", "type", "status"} {
			switch v[field].(type) {
			case string, float64:
				code := strings.ToLower(fmt.Sprint(v[field]))
				c.codes = append(c.codes, code)
				if n, err := strconv.Atoi(code); err == nil && c.status == 0 {
					c.status = n
				}
			}
		}
		for field, into := range map[string]*int{"n_ctx": &c.window, "n_prompt_tokens": &c.prompt} {
			if n, ok := v[field].(float64); ok {
				*into = int(n)
			}
		}
		for _, field := range wordFields {
			if field == "msg" && v["loc"] != nil { // FastAPI: a complaint is meaningless without its location
				c.read(fmt.Sprintf("%v (at %v)", v["msg"], v["loc"]), depth+1)
				continue
			}
			c.read(v[field], depth+1)
		}
	}
}

// maxRetryAfter limits the delay accepted from a server.
const maxRetryAfter = 24 * time.Hour

// retryAfter returns the delay that the server asks for. A date is compared with its clock: this one may be wrong.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if sent, err := http.ParseTime(header.Get("Date")); err == nil {
		now = sent
	}
	value := header.Get("Retry-After")
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return parseDelay(value)
}

// parseDelay parses seconds or a duration: "20", "1.5", "34s", "1m26.4s". It returns a day at most, and 0 for others.
func parseDelay(value string) time.Duration {
	seconds, err := strconv.ParseFloat(value, 64)
	if d, isDuration := time.ParseDuration(value); isDuration == nil {
		seconds = d.Seconds()
		err = nil
	}
	if err != nil || !(seconds > 0) { // also NaN
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second)) // 1e300 does not fit a Duration
}

// tryAgain captures a delay in the text of a refusal, which some servers, such as OpenAI, send without a header.
var tryAgain = lazy.Pattern(`(?i)\b(?:try again|retry) (?:in|after) (?:((?:\d+(?:\.\d+)?(?:ms|s|m|h))+)\b|(\d+) ?sec)`)

// statedDelay returns the delay that the text of a refusal asks for; 0 if none.
func statedDelay(text string) time.Duration {
	found := tryAgain().FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	return parseDelay(cmp.Or(found[1], found[2]))
}

// Clip shortens a server's text to the length of a log line.
func Clip(text string) string {
	const limit = 500 // bytes
	if len(text) <= limit {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:limit], "\uFFFD") + "…"
}
