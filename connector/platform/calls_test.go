package platform

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"cairn/testkit/check"
)

func TestCallsHaveResultsAndNothingPrivate(t *testing.T) {
	for name, c := range map[string]struct {
		status  int
		body    string
		want    string
		refused bool
	}{
		"Slack":                    {200, `{"ok":true,"ts":"1.2"}`, "ok", false},
		"Slack's warning":          {200, `{"ok":true,"warning":"missing_charset"}`, "ok (warning missing_charset)", false},
		"Slack's error":            {200, `{"ok":false,"error":"not_in_channel"}`, "not_in_channel", true},
		"a missing scope":          {200, `{"ok":false,"error":"missing_scope","needed":"reactions:write"}`, "missing_scope (needs reactions:write)", true},
		"Slack's rate limit":       {429, `{"ok":false,"error":"ratelimited"}`, "HTTP 429", false},
		"Discord":                  {200, `{"id":"1","content":"a secret"}`, "ok", false},
		"nothing":                  {204, "", "ok", false},
		"Discord's error":          {403, `{"code":50013,"message":"Missing Permissions"}`, "HTTP 403, code 50013", true},
		"a proxy's error":          {502, "<html>Bad Gateway</html>", "HTTP 502", true},
		"fields in another form":   {200, `{"ok":"yes","error":7}`, "ok", false},
		"the connection that ends": {0, "", "no answer", true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.status == 0 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			client := &http.Client{Transport: &http.Transport{}}
			calls := Record(client, func(r *http.Request) string { return r.Method })
			defer client.CloseIdleConnections()
			resp, err := client.Post(server.URL, "", nil)
			if err == nil {
				body := check.Must(io.ReadAll(resp.Body))(t)
				check.NoError(t, resp.Body.Close())
				check.Equal(t, "what the client reads", string(body), c.body)
			}
			call := check.Must(calls.Await(context.Background(), 0, func(Call) bool { return true }))(t)
			check.Equal(t, "name", call.Name, "POST")
			check.Equal(t, "result", call.Result, c.want)
			check.Equal(t, "refused", call.Refused, c.refused)
		})
	}
}

func TestErrorsOfATrialHaveNoIDs(t *testing.T) {
	for text, want := range map[string]string{
		"POST /channels/1234567890123456/messages: HTTP 403, code 50013": "POST /channels/…/messages: HTTP 403, code 50013",
		"slack:T0123456/C0123456789/1700000000.123456 is closed":         "… is closed",
		"post to Slack: not_in_channel, user U0123ABCD":                  "post to Slack: not_in_channel, user …",
	} {
		check.Equal(t, text, withoutIDs(errors.New(text)), want)
	}
}
