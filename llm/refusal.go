// What a server says when it does not answer, in whatever shape it says it,
// becomes one type of error.

package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/words"
)

// mostJudged is how much of a refusal's words is looked at, in bytes: many patterns look
// for what it means, and a megabyte of words took them a second.
const mostJudged = 16 << 10

// Refused makes an error from a server's response. status is 0 for an error inside a
// stream; header may be nil.
func Refused(status int, header http.Header, body []byte) *Error {
	said := parseComplaint(body)
	if status < 300 && said.status >= 400 && said.status < 600 {
		status = said.status // an error that came as a success
	}
	text := strings.Join(said.words, ": ")
	text = text[:min(len(text), mostJudged)]
	limit, over := overflow(said.codes, text)
	e := &Error{Status: status, Message: Clip(text), RetryAfter: retryAfter(header, time.Now())}
	if e.Message == "" {
		e.Message = http.StatusText(status)
	}
	switch e.Kind = kindOf(status, said.codes); {
	case over && e.Kind == KindBadRequest,
		over && e.Kind == KindOverloaded && status < 300, // nobody could sort it by its code
		status == http.StatusRequestEntityTooLarge:
		e.Kind = KindOverflow
		e.Limit, e.Prompt = max(limit, said.window), promptOf(text, said)
	case e.Kind == KindOverloaded && (takesNoTools(text) || takesNoImages(text)):
		e.Kind = KindBadRequest // llama.cpp says it with 500, and would say it again
	case !takesNoTools(text) && !takesNoImages(text):
		e.Kind = refine(e, said.codes, text)
	}
	return e
}

// kindOf sorts by the status, or by the error's own code when there is none. What
// nobody can sort is a server's failure: the request may succeed later.
func kindOf(status int, codes []string) Kind {
	switch {
	case status == http.StatusTooManyRequests:
		return KindRateLimited
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return KindOverloaded
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired, status == http.StatusForbidden:
		return KindAuth
	case status >= 300:
		return KindBadRequest
	}
	for _, sort := range []struct {
		kind  Kind
		parts []string
	}{
		{KindRateLimited, []string{"rate_limit", "too_many_requests", "resource_exhausted", "throttl"}},
		{KindAuth, []string{"auth", "api_key", "permission", "forbidden"}},
		{KindBadRequest, []string{"invalid", "not_found", "bad_request", "unsupported", "html"}},
	} {
		for _, part := range sort.parts {
			if slices.ContainsFunc(codes, func(code string) bool { return strings.Contains(code, part) }) {
				return sort.kind
			}
		}
	}
	return KindOverloaded
}

// complaint is what is found in a refusal.
type complaint struct {
	words  []string // for people, outermost first
	codes  []string // for programs, in lower case
	status int      // an HTTP status given as the error's code
	window int      // llama.cpp tells it beside the error
	prompt int      // so it does with the prompt's tokens
	size   int      // bytes of words that were looked at
}

func parseComplaint(body []byte) complaint {
	var c complaint
	text := strings.TrimSpace(string(body))
	if strings.HasPrefix(text, "<") {
		c.codes = []string{"html"}
		text = pageText(text)
	}
	c.read(text, 0)
	return c
}

// wordFields are where servers put words or more JSON, outermost first.
var wordFields = []string{"error", "message", "msg", "detail", "details", "errors", "metadata", "raw"}

// read walks through whatever a server put into its error: words, lists, objects
// in objects, JSON in a string.
func (c *complaint) read(value any, depth int) {
	if depth > 8 || c.size >= mostJudged {
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
		c.size += len(text) + 1 // repeated ones too: each is looked for
		if text != "" && !slices.Contains(c.words, text) {
			c.words = append(c.words, text)
		}
	case []any:
		for _, item := range v {
			c.read(item, depth+1)
		}
	case map[string]any:
		for _, field := range []string{"code", "type", "status"} {
			c.readCode(v[field])
		}
		if n, ok := v["n_ctx"].(float64); ok {
			c.window = int(n)
		}
		if n, ok := v["n_prompt_tokens"].(float64); ok {
			c.prompt = int(n)
		}
		for _, field := range wordFields {
			if field == "msg" && v["loc"] != nil { // FastAPI: without its place a complaint says nothing
				c.read(fmt.Sprintf("%v (at %v)", v["msg"], v["loc"]), depth+1)
				continue
			}
			c.read(v[field], depth+1)
		}
	}
}

func (c *complaint) readCode(value any) {
	switch v := value.(type) {
	case float64:
		if c.status == 0 {
			c.status = int(v)
		}
	case string:
		if n, err := strconv.Atoi(v); err == nil && c.status == 0 {
			c.status = n
		}
		c.codes = append(c.codes, strings.ToLower(v))
	}
}

var (
	pageNoise = words.Pattern(`(?is)<(script|style)\b.*?</(script|style)>`)
	pageTag   = words.Pattern(`(?s)<[^>]*>`)
)

// pageText returns the words of an HTML page, as proxies send them.
func pageText(page string) string {
	page = pageTag().ReplaceAllString(pageNoise().ReplaceAllString(page, " "), " ")
	return strings.Join(strings.Fields(html.UnescapeString(page)), " ")
}

// mostRetryAfter bounds what is believed of a wish to be left alone.
const mostRetryAfter = 24 * time.Hour

// retryAfter reads how long the server wants to be left alone, a day at most; 0: it
// did not say.
func retryAfter(header http.Header, now time.Time) time.Duration {
	wanted := func(value string, unit time.Duration) time.Duration {
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || !(n > 0) { // not a number is not above 0 either
			return 0
		}
		return time.Duration(min(n, float64(mostRetryAfter/unit)) * float64(unit)) // 1e300 fits no Duration
	}
	value := header.Get("Retry-After")
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), mostRetryAfter)
	}
	return cmp.Or(wanted(header.Get("Retry-After-Ms"), time.Millisecond), wanted(value, time.Second))
}

// Clip shortens a server's words to what a log line bears.
func Clip(text string) string {
	const most = 500 // bytes
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	end := most
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
