package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"
	"cairn/llm/llmtest"
	"cairn/slack/slacktest"
)

// telling returns the address of a program's health checks.
func (p *platforms) telling(r *live) (address string) {
	p.t.Helper()
	p.logs(r, `"health":"`)
	return first(p.t, `"health":"([^"]+)"`, r.errs.String())
}

func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	resp := check.Must(http.Get(url))(t)
	defer resp.Body.Close()
	return resp.StatusCode, string(check.Must(io.ReadAll(resp.Body))(t))
}

func TestHealth(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	p, f, r := served(t, func(x *llmtest.Exchange) {
		if broken.Load() {
			x.Refuse(http.StatusUnauthorized, "", `{"error":{"message":"no hush-hush here"}}`)
			return
		}
		x.Say("Here I am.")
	}, "--health", "127.0.0.1:0")
	address := p.telling(r)
	ready := func(want int, words string) {
		t.Helper()
		code, said := 0, ""
		p.until(r, words, func() bool {
			code, said = get(t, "http://"+address+"/readyz")
			return code == want && strings.Contains(said, words)
		})
		check.Lacks(t, "health answer", said, "hush", slacktest.BotToken, slacktest.AppToken, "Where are you", "Here I am")
	}
	ready(200, `{"part":"discord","ok":true},{"part":"slack","ok":true},{"part":"database","ok":true}`)
	p.sayOnDiscord("Where are you?")
	p.wait(r, p.onDiscord, "Here I am.")
	for _, args := range [][]string{{"health"}, {"health", "--ready"}} {
		check.HasPrefix(t, fmt.Sprint(args), f.must("", append(args, "--health", address)...), `{"ok":true,`)
	}
	mend := breakDisk(r)
	ready(503, `"database","ok":false,"why":"cannot be written; the log says why"`)
	code, said := get(t, "http://"+address+"/healthz")
	check.Equal(t, "alive beside a disk that takes nothing: "+said, code, 200)
	mend()
	ready(200, `{"part":"database","ok":true}`)
	p.logs(r, "database_check_failed", "database_recovered")

	broken.Store(true)
	for n := range modelDown {
		p.sayOnSlack("Where are you?")
		p.until(r, "words", func() bool { return len(p.onSlack()) > n })
	}
	ready(503, `"model","ok":false,"why":"the last 3 turns failed; the log says why"`)
	asked := f.run("", "health", "--ready", "--health", address)
	check.Equal(t, "exit code", asked.code, exitFailed)
	check.Contains(t, "output of health", asked.out, "the last 3 turns failed")
	broken.Store(false)
	p.sayOnSlack("And now?")
	ready(200, `{"part":"model","ok":true}`)
	metricsOfHealth(t, "http://"+address+"/metrics")

	p.discord.Close()
	ready(503, `{"part":"discord","ok":false,"why":"not connected"},{"part":"slack","ok":true}`)
	r.stop()
	f.fails(exitFailed, "nothing answers at "+address, "health", "--health", address)
}

func metricsOfHealth(t *testing.T, url string) {
	var said string
	check.That(t, check.Soon(func() bool { // counted once the answer was sent
		_, said = get(t, url)
		return strings.Contains(said, "cairn_turn_duration_seconds_count 5\n")
	}), "got no five turns")
	for _, want := range []string{
		`cairn_turns_total{outcome="answered"} 2`, `cairn_turns_total{outcome="failed"} 3`, `cairn_turns_failed_total{class="auth"} 3`,
		`cairn_model_errors_total{class="auth",work="turn"} 3`, `cairn_model_errors_total{class="auth",work="summary"} 0`,
		"cairn_turn_first_token_seconds_count 2", "cairn_turns_failing 0",
		"cairn_inbox_messages 0", "cairn_inbox_oldest_seconds 0", "cairn_database_readable 1",
		`cairn_memories{state="active"} 0`, `cairn_connector_connected{connector="slack"} 1`,
		`cairn_model_requests_total{model="m",work="turn"} 2`, `cairn_model_requests_total{model="m",work="summary"} 0`,
		`cairn_model_cost_total{kind="output",model="m",work="turn"} 0`, `cairn_compactions_total{state="applied",trigger="emergency"} 0`,
	} {
		check.Contains(t, "the metrics", said, "\n"+want+"\n")
	}
	check.Lacks(t, "the metrics", said, "Where are you", "And now", slacktest.BotToken, "hush")
}

func TestFrequentHealthRequestsShareACheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, checks := &health{ctx: t.Context()}, 0
		ask := func() {
			w := httptest.NewRecorder()
			h.answer(w, "ready", func(context.Context) state {
				checks++
				return state{OK: checks == 1}
			})
			check.Equal(t, "status", w.Code, map[int]int{1: 200, 2: 503}[checks])
		}
		for range 10 {
			ask()
		}
		check.Equal(t, "checks at once", checks, 1)
		time.Sleep(probeTTL)
		ask()
		check.Equal(t, "checks a second later", checks, 2)
	})
}
