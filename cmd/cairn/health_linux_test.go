package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/llm/llmtest"
	"cairn/slack/slacktest"
)

// telling returns the address of a program's health checks.
func (p *platforms) telling(r *live) (address string) {
	p.t.Helper()
	form := regexp.MustCompile(`"health":"([^"]+)"`)
	p.until(r, "an address", func() bool {
		if found := form.FindStringSubmatch(r.errs.String()); found != nil {
			address = found[1]
		}
		return address != ""
	})
	return address
}

func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	resp := check.Must(http.Get(url))(t)
	defer resp.Body.Close()
	text := check.Must(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, string(text)
}

func TestHealth(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if broken.Load() {
			x.Refuse(http.StatusUnauthorized, "", `{"error":{"message":"no hush-key here"}}`)
			return
		}
		x.Say("Here I am.")
	})
	p := newPlatforms(t)
	f := p.folder("", "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m", "OPENAI_API_KEY=hush-key")
	r := f.start("run", "--health", "127.0.0.1:0")
	address := p.telling(r)
	url := "http://" + address
	ready := func(want int, words string) {
		t.Helper()
		code, said := 0, ""
		p.until(r, words, func() bool {
			code, said = get(t, url+"/readyz")
			return code == want && strings.Contains(said, words)
		})
		check.Lacks(t, "health answer", said, "hush", slacktest.BotToken, slacktest.AppToken, "Where are you", "Here I am")
	}
	p.open(r)
	ready(200, `{"part":"discord","ok":true},{"part":"slack","ok":true},{"part":"database","ok":true}`)
	p.sayOnDiscord("Where are you?")
	p.wait(r, p.onDiscord, "Here I am.")
	for _, args := range [][]string{{"health"}, {"health", "--ready"}} {
		check.HasPrefix(t, fmt.Sprint(args), f.must("", append(args, "--health", address)...), `{"ok":true,`)
	}
	t.Run("a disk that takes nothing", func(t *testing.T) {
		mend := breakDisk(t, r.cmd.Process.Pid)
		ready(503, `"database","ok":false,"why":"cannot be written; the log says why"`)
		if code, said := get(t, url+"/healthz"); code != 200 {
			t.Errorf("not alive: %s", said)
		}
		mend()
		ready(200, `{"part":"database","ok":true}`)
	})
	t.Run("a database that is moved away", func(t *testing.T) {
		back := f.moveDatabase()
		ready(503, `"database","ok":false,"why":"cannot be written; the log says why"`)
		back()
		ready(200, `{"part":"database","ok":true}`)
	})
	t.Run("a model that does not answer", func(t *testing.T) {
		broken.Store(true)
		for range modelDown {
			before := len(p.onSlack())
			p.sayOnSlack("Where are you?")
			p.until(r, "words", func() bool { return len(p.onSlack()) > before })
		}
		ready(503, `"model","ok":false,"why":"the last 3 turns failed; the log says why"`)
		res := f.run("", "health", "--ready", "--health", address)
		check.Equal(t, "exit code", res.code, exitFailed)
		check.Contains(t, "output of health", res.out, "the last 3 turns failed")
		broken.Store(false)
		p.sayOnSlack("And now?")
		ready(200, `{"part":"model","ok":true}`)
	})
	t.Run("metrics", func(t *testing.T) { metricsOfHealth(t, url) })
	t.Run("a connector that is down", func(t *testing.T) {
		p.discord.Close()
		ready(503, `{"part":"discord","ok":false,"why":"not connected"},{"part":"slack","ok":true}`)
	})
	r.stop()
	res := f.run("", "health", "--health", address)
	check.Equal(t, "exit code", res.code, exitFailed)
	check.Contains(t, "errors of health", res.err, "nothing answers at "+address)
}

func metricsOfHealth(t *testing.T, url string) {
	code, said := get(t, url+"/metrics")
	for end := time.Now().Add(20 * time.Second); !strings.Contains(said, "cairn_turn_duration_seconds_count 5\n") && time.Now().Before(end); { // counted once the answer was sent
		code, said = get(t, url+"/metrics")
	}
	for _, want := range []string{
		`cairn_turns_total{outcome="answered"} 2`, `cairn_turns_total{outcome="failed"} 3`, `cairn_turns_failed_total{class="auth"} 3`,
		`cairn_model_errors_total{class="auth",work="turn"} 3`, `cairn_model_errors_total{class="auth",work="summary"} 0`,
		"cairn_turn_duration_seconds_count 5", "cairn_turn_first_token_seconds_count 2", "cairn_turns_failing 0",
		"cairn_inbox_messages 0", "cairn_inbox_oldest_seconds 0", "cairn_database_readable 1",
		`cairn_memories{state="active"} 0`, `cairn_connector_connected{connector="slack"} 1`,
		`cairn_model_requests_total{model="m",work="turn"} 2`, `cairn_model_requests_total{model="m",work="summary"} 0`,
		`cairn_model_cost_total{kind="output",model="m",work="turn"} 0`, `cairn_compactions_total{state="applied",trigger="emergency"} 0`,
	} {
		check.Equal(t, "the status", code, 200)
		check.Contains(t, "the answer", said, "\n"+want+"\n")
	}
	if !strings.Contains(said, "\ncairn_outbox_pieces ") { // the last answer may be on its way
		t.Errorf("got no outbox in\n%s", said)
	}
	check.Lacks(t, "health answer", said, "Where are you", "And now", slacktest.BotToken, "hush")
}
