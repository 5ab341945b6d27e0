package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"
)

func TestBotFirst(t *testing.T) {
	database := func(context.Context, string, string, url.Values, any) (json.RawMessage, error) {
		return json.RawMessage(`"database"`), nil
	}
	for _, c := range []struct {
		name        string
		handle      http.HandlerFunc
		read, wrote string // the answer, or the error
	}{
		{"a bot that answers", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`"bot"`)) }, `"bot"`, `"bot"`},
		{"a bot that stops", func(w http.ResponseWriter, _ *http.Request) { _ = notNow(w) }, `"database"`, "The bot is stopping."},
		{"what is not there", func(w http.ResponseWriter, _ *http.Request) {
			p := problem(http.StatusNotFound, "Gone.")
			writeJSON(w, p.Status, "application/problem+json", p)
		}, "Gone.", "Gone."},
		{"another program at the address", http.NotFound, `"database"`, "Not Found"},
		{"a connection that ends", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, `"database"`, "check whether the change was made"},
		{"nothing at the address", nil, `"database"`, "nothing was changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(c.handle)
			defer s.Close()
			if c.handle == nil {
				s.Close()
			}
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			api := BotFirst(Remote(client, s.URL, ""), database, "here")
			for method, want := range map[string]string{"GET": c.read, "POST": c.wrote} {
				text, err := api(t.Context(), method, "/api/memories", nil, nil)
				if err != nil {
					text = []byte(err.Error())
				}
				check.Contains(t, method, string(text), want)
			}
		})
	}
}

func notNow(w http.ResponseWriter) error {
	writeJSON(w, http.StatusServiceUnavailable, "application/problem+json", problem(http.StatusServiceUnavailable, "The bot is stopping."))
	return nil
}

func TestReadsLeaveABotThatRejectsOrHangs(t *testing.T) {
	for name, c := range map[string]struct {
		err   error // nil: it hangs
		asked int
	}{
		"rejects": {problem(http.StatusUnauthorized, "The token is wrong."), 1},
		"hangs":   {nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				bot := func(ctx context.Context, _, _ string, _ url.Values, _ any) (json.RawMessage, error) {
					if asked++; c.err != nil {
						return nil, c.err
					}
					<-ctx.Done()
					return nil, &noAnswerError{ctx.Err()}
				}
				database := func(context.Context, string, string, url.Values, any) (json.RawMessage, error) {
					return []byte("1"), nil
				}
				api := BotFirst(bot, database, "here")
				for range 3 {
					before := time.Now()
					check.Equal(t, "answer", string(check.Must(api(t.Context(), "GET", "/api/usage", nil, nil))(t)), "1")
					if took := time.Since(before); took > botTimeout {
						t.Errorf("took %v", took)
					}
				}
				check.Equal(t, "requests", asked, c.asked)
				if _, err := api(t.Context(), "POST", "/api/memories", nil, nil); err == nil {
					t.Error("the change went to the database")
				}
			})
		})
	}
}
