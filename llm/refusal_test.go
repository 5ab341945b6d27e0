package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cairn/internal/network"
	"cairn/testkit/check"
)

// table returns the lines of a file in testdata, cut into columns. The last one is the body of a refusal.
func table(t *testing.T, name string, columns int) (rows [][]string) {
	t.Helper()
	for line := range strings.Lines(string(check.Must(os.ReadFile("testdata/" + name))(t))) {
		row := strings.SplitN(line, " | ", columns)
		if line != "\n" && line[0] != '#' {
			check.Len(t, name, row, columns)
			rows = append(rows, row)
		}
	}
	return rows
}

func refused(t *testing.T, status, body string) *Error {
	t.Helper()
	return Refused(check.Must(strconv.Atoi(status))(t), nil, []byte(body))
}

func TestRefusalsBecomeErrors(t *testing.T) {
	for _, c := range table(t, "refusals.txt", 5) {
		err := refused(t, c[1], c[4])
		check.Equal(t, c[0], fmt.Sprintf("%s %d %d", err.Kind, err.Limit, PromptOf(err)), c[2])
		check.That(t, c[3] == "" || err.Message == c[3], "%s: got %q, want %q", c[0], err.Message, c[3])
		check.That(t, err.Kind != KindOverflow || !err.Temporary(), "%s: it is retried", c[0])
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"1.5": 1500 * time.Millisecond, "Fri, 01 May 2026 12:00:30 GMT": 30 * time.Second, "Fri, 01 May 2026 11:00:00 GMT": 0,
		"-3": 0, "soon": 0, "NaN": 0, "1e300": maxRetryAfter, "Fri, 01 May 2326 12:00:00 GMT": maxRetryAfter,
	} {
		header := http.Header{"Retry-After": {value}, "Date": {now.Format(http.TimeFormat)}} // the clock here may be wrong
		check.Equal(t, value, retryAfter(header, now.Add(3*time.Hour)), want)
	}
	for body, want := range map[string]time.Duration{
		`{"error":{"message":"Limit 30000, Used 29937, Requested 385. Please try again in 644ms."}}`: 644 * time.Millisecond,
		`{"error":{"message":"Rate limit reached. Please try again in 1m26.4s. Visit x"}}`:           86400 * time.Millisecond,
		`{"error":{"message":"Please retry in 34s."}}`:                                               34 * time.Second,
		`{"error":{"message":"Please retry after 20 seconds."}}`:                                     20 * time.Second,
		`{"error":{"message":"slow down; see try again in 1000000h"}}`:                               maxRetryAfter,
		`{"error":{"message":"try again in -5s, in s, in 1.2.3s","retryDelay":-3}}`:                  0,
	} {
		check.Equal(t, body, Refused(429, nil, []byte(body)).RetryAfter, want)
	}
	check.Equal(t, "header and body", Refused(429, http.Header{"Retry-After": {"7"}}, []byte(`{"error":"try again in 20s"}`)).RetryAfter, 7*time.Second)
	check.Equal(t, "a bad request", Refused(400, nil, []byte(`{"error":"the tool said: try again in 20s"}`)).RetryAfter, 0)
}

func TestClipKeepsValidText(t *testing.T) {
	for _, text := range []string{strings.Repeat("\x80", 900), strings.Repeat("語", 900), strings.Repeat("a", 499) + "語語"} {
		got := Clip(text)
		check.That(t, len(got) <= 510 && utf8.ValidString(got), "%q…: got %d bytes", text[:6], len(got))
	}
}

func FuzzRefusal(f *testing.F) {
	f.Add(400, `{"error":{"message":"x","code":400}}`)
	f.Add(0, `[[["{\"error\":\"[1,2]\"}"]]]`)
	f.Add(200, "<p>page")
	f.Fuzz(func(t *testing.T, status int, body string) {
		err := Refused(status, nil, []byte(body))
		check.That(t, err.Kind != "" && utf8.ValidString(err.Message) && err.Limit >= 0, "refusal of %q: %#v", body, err)
	})
}

// TestLongRefusalIsClassifiedByItsStart: only the start is searched.
func TestLongRefusalIsClassifiedByItsStart(t *testing.T) {
	check.SkipUnderRace(t)
	var many []string
	for i := range 50_000 {
		many = append(many, fmt.Sprint("word ", i))
	}
	body := check.Must(json.Marshal(map[string]any{"error": many}))(t)
	n := len(strings.Join(parseComplaint(body).words, " "))
	check.That(t, n <= maxExamined+10, "got %d bytes searched", n)
}

func TestEveryFailureHasARemedy(t *testing.T) {
	where := Where{Model: "test-model", Address: "http://there.test/v1", Key: "TEST_KEY", Offered: []string{"near", "far"}}
	type failure struct {
		name       string
		err        error
		kind       Kind
		said, todo string
	}
	keyless := where
	filtered := &Error{Kind: KindFiltered, Message: "the answer has no text"}
	keyless.NoKey = true
	failures := []failure{
		{"a long wait", &Error{Kind: KindRateLimited, Status: 429, RetryAfter: 30 * time.Minute}, KindRateLimited, "ask again in 30 minutes", "wait for 30 minutes"},
		{"too late", &Error{Kind: KindUnreachable, Message: "no whole answer", Err: ErrLate}, KindUnreachable, "took too long", "smaller model"},
		{"nothing listens", &Error{Kind: KindUnreachable, Message: "dial tcp: connection refused"}, KindUnreachable, "cannot reach the model", "start the server at http://there.test/v1"},
		{"a dead proxy", &Error{Kind: KindUnreachable, Err: &network.ProxyError{Err: errors.New("x")}}, KindUnreachable, "cannot reach the model", "start the proxy"},
		{"half an answer", &Error{Kind: KindTruncated, Message: "EOF"}, KindTruncated, "answer was incomplete", "closed the connection"},
		{"an answer that stalls", Truncated(ErrStalled), KindTruncated, "answer was incomplete", "raise stream_idle"},
		{"a filtered answer", Located(filtered, Where{Model: where.Model, Address: where.Address}), KindFiltered, "provider's filter", "change the content filter"},
		{"no key", Located(refused(t, "401", `{"error":{"message":"You didn't provide an API key."}}`), keyless), KindAuth, "requires an API key and I have none, so I cannot answer. Your message is saved; the bot's operator must set TEST_KEY.", "set TEST_KEY"},
	}
	for _, c := range table(t, "failures.txt", 6) {
		failures = append(failures, failure{c[0], refused(t, c[1], c[5]), Kind(c[2]), c[3], c[4]})
	}
	used := map[int]bool{}
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			err := fmt.Errorf("turn 7: %w", Located(f.err, where))
			check.Equal(t, "kind", KindOf(err), f.kind)
			r, ok := RemedyOf(err)
			check.Contains(t, "for people", r.Person, f.said)
			check.That(t, ok && r.Reason != "", "got no reason")
			check.Lacks(t, "sentence for people", r.Person, where.Address, where.Model, "there.test", "HTTP", "near")
			var line bytes.Buffer
			slog.New(slog.NewTextHandler(&line, nil)).Warn("turn_failed", LogAttrs(err)...)
			check.Contains(t, "the log line", strings.ReplaceAll(line.String(), `\"`, `"`),
				"model=test-model", "address=http://there.test/v1", f.todo, string(f.kind))
			var e *Error
			errors.As(err, &e)
			used[slices.IndexFunc(causes, func(c cause) bool { return c.is(e) })] = true
			temporary := []Kind{KindRateLimited, KindOverloaded, KindUnreachable, KindTruncated}
			check.Equal(t, "temporary", e.Temporary(), slices.Contains(temporary, f.kind))
		})
	}
	for i, c := range causes {
		check.That(t, used[i], "no test covers the row %q", c.reason)
	}
}

func TestAFailureIsLocatedOnce(t *testing.T) {
	unlocated := refused(t, "401", "no")
	first := Located(unlocated, Where{Model: "a", Address: "http://a"})
	second := Located(first, Where{Model: "b", Address: "http://b"})
	var e *Error
	check.That(t, errors.As(second, &e) && e.Where.Model == "a", "got %v", second)
	check.That(t, errors.As(error(unlocated), &e) && e.Where.Model == "", "the input error was changed: %v", unlocated)
	other := errors.New("other")
	check.Equal(t, "another error was changed", Located(other, Where{Model: "a"}), other)
}

func TestRejectedFieldsAreRecognized(t *testing.T) {
	check.SkipUnderRace(t)
	for _, c := range table(t, "unsupported.txt", 4) {
		err := refused(t, c[1], c[3])
		wrapped := fmt.Errorf("the turn failed: %w", err)
		check.Equal(t, c[0]+": "+err.Message, rejected(wrapped), c[2])
		check.That(t, (c[2] == "" || !err.Temporary()) && (!TakesNoImages(err) || RefusesImages(wrapped)), "%s: %q: retried unchanged", c[0], err)
	}
	for _, err := range []error{
		nil, errors.New("it does not support tools"), errors.New("it does not support images"), Refused(500, nil, []byte("a tool server failed")),
		Refused(503, nil, []byte("reasoning_content is missing")), Refused(500, nil, []byte("tool_choice crashed")),
	} {
		check.That(t, rejected(err) == "" && !RefusesImages(err) && (err == nil || KindOf(err) != KindBadRequest), "%v: got a refusal, want none", err)
	}
}

func rejected(err error) string {
	var all []string
	for what, is := range map[string]func(error) bool{"tools": RefusesTools, "images": TakesNoImages, "reasoning": WantsReasoning, "free choice": RefusesForced} {
		if is(err) {
			all = append(all, what)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
