package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"testing"

	"cairn/internal/check"
)

func TestReadsNeedNoBot(t *testing.T) {
	database := func(context.Context, string, string, url.Values, any) (json.RawMessage, error) {
		return json.RawMessage(`"database"`), nil
	}
	for said, c := range map[string]struct {
		text string
		err  error
	}{
		`"bot"`:                  {`"bot"`, nil},
		"Gone.":                  {"", problem(http.StatusNotFound, "Gone.")},
		"see whether the change": {"", errors.New("connection refused")},
	} {
		api := WithChangesTo(func(context.Context, string, string, url.Values, any) (json.RawMessage, error) {
			return json.RawMessage(c.text), c.err
		}, database, "here")
		check.Equal(t, "what is read", string(must(api(t.Context(), "GET", "/api/usage", nil, nil))), `"database"`)
		check.Equal(t, "a simulation", string(must(api(t.Context(), "POST", simulatePath, nil, nil))), `"database"`)
		text, err := api(t.Context(), "POST", "/api/memories", nil, nil)
		if err != nil {
			text = []byte(err.Error())
		}
		check.Contains(t, "a change", string(text), said)
	}
}
