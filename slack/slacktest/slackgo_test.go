// What slack-go v0.34.0 does by itself, shown on the workspace: a connector has to know it.
package slacktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"cairn/slack/slacktest"
)

func TestSlackGoOverHTTP(t *testing.T) {
	t.Parallel()
	hello := slack.MsgOptionText("hello", false)

	t.Run("its default HTTP client waits for an answer for ever", func(t *testing.T) {
		s := start(t, calm())
		general := s.AddChannel("general")
		s.Fail(slacktest.Fault{Method: "chat.postMessage", Delay: time.Hour, Times: -1})
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ended := make(chan error, 1)
		bare := slack.New(slacktest.BotToken, slack.OptionAPIURL(s.APIURL))
		go func() {
			_, _, err := bare.PostMessageContext(ctx, general, hello)
			ended <- err
		}()
		eventually(t, s, "the request is there", func() bool { return s.Seen("chat.postMessage") == 1 })
		if n := len(s.Calls("chat.postMessage")); n != 0 {
			t.Errorf("%d requests are answered", n)
		}
		withTimeout := client(t, s, slack.OptionHTTPClient(&http.Client{Timeout: 200 * time.Millisecond}))
		if _, _, err := withTimeout.PostMessage(general, hello); err == nil {
			t.Error("a client with a timeout waited for the answer too")
		}
		select {
		case err := <-ended:
			t.Errorf("the default client gave up: %v", err)
		case <-time.After(200 * time.Millisecond):
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})

	t.Run("a 429 is an error without OptionRetry, and waited out with it", func(t *testing.T) {
		s := start(t, calm())
		general := s.AddChannel("general")
		s.Fail(slacktest.Fault{Method: "chat.postMessage", RetryAfter: time.Second, Times: 2})
		_, _, err := client(t, s).PostMessage(general, hello)
		if limited, ok := errors.AsType[*slack.RateLimitedError](err); !ok || limited.RetryAfter != time.Second {
			t.Errorf("without: %v", err)
		}
		if _, _, err := client(t, s, slack.OptionRetry(1)).PostMessage(general, hello); err != nil {
			t.Errorf("with: %v", err)
		}
		if got := len(s.Posted()); got != 1 {
			t.Errorf("%d messages", got)
		}
	})

	t.Run("OptionRetry never retries a 5xx, the server-error handler does", func(t *testing.T) {
		s := start(t, calm())
		general := s.AddChannel("general")
		s.Fail(slacktest.Fault{Method: "chat.postMessage", Status: 503, Times: 2})
		_, _, err := client(t, s, slack.OptionRetry(3)).PostMessage(general, hello)
		if failed, ok := errors.AsType[slack.StatusCodeError](err); !ok || failed.Code != 503 || len(s.Calls("chat.postMessage")) != 1 {
			t.Errorf("OptionRetry: %v after %d calls", err, len(s.Calls("chat.postMessage")))
		}
		if _, _, err := client(t, s, retryServerErrors()).PostMessage(general, hello); err != nil {
			t.Errorf("with the handler: %v", err)
		}
	})

	t.Run("a retried 5xx posts twice when the first try took effect", func(t *testing.T) {
		s := start(t, calm())
		general := s.AddChannel("general")
		s.Fail(slacktest.Fault{Method: "chat.postMessage", Status: 502, TakesEffect: true})
		if _, _, err := client(t, s, retryServerErrors()).PostMessage(general, hello); err != nil {
			t.Fatal(err)
		}
		if got := len(s.Posted()); got != 2 {
			t.Errorf("%d messages", got)
		}
	})

	t.Run("an HTML page with status 200 is a JSON error", func(t *testing.T) {
		s := start(t, calm())
		s.Fail(slacktest.Fault{Body: "<html>We'll be right back</html>"})
		_, err := client(t, s).AuthTest()
		if _, ok := errors.AsType[*json.SyntaxError](err); !ok {
			t.Errorf("got %v", err)
		}
	})
}

func retryServerErrors() slack.Option {
	config := slack.RetryConfig{MaxRetries: 2, BackoffInitial: 10 * time.Millisecond, BackoffMax: 20 * time.Millisecond}
	config.Handlers = []slack.RetryHandler{slack.NewServerErrorRetryHandler(config)}
	return slack.OptionRetryConfig(config)
}

func TestSlackGoOverSocketMode(t *testing.T) {
	t.Parallel()
	t.Run("an unknown event is an ErrorBadMessage, comes again, and is ended by its envelope id", func(t *testing.T) {
		o := calm()
		o.AckWithin, o.Redeliver = 3*time.Second, []time.Duration{0, 0} // as long as on Slack: the answer must be in time
		s := start(t, o)
		sm := run(t, client(t, s))
		next(t, sm, socketmode.EventTypeHello)
		id := s.Emit(map[string]any{"type": "quantum_leap"})
		next(t, sm, socketmode.EventTypeErrorBadMessage)
		again := next(t, sm, socketmode.EventTypeErrorBadMessage)
		if again.Request != nil {
			t.Error("the event has a Request after all")
		}
		var envelope struct {
			ID      string `json:"envelope_id"`
			Payload struct {
				EventID string `json:"event_id"`
			} `json:"payload"`
		}
		if err := json.Unmarshal(again.Data.(*socketmode.ErrorBadMessage).Message, &envelope); err != nil || envelope.Payload.EventID != id {
			t.Fatalf("%+v, %v", envelope, err)
		}
		if err := sm.AckCtx(t.Context(), envelope.ID, nil); err != nil {
			t.Fatal(err)
		}
		settled(t, s)
		if all := s.Deliveries(); len(all) != 2 || all[1].Acked.IsZero() {
			t.Errorf("%d deliveries", len(all))
		}
	})

	t.Run("Ack blocks when 20 are queued and no connection takes them", func(t *testing.T) {
		s := start(t, calm())
		s.Fail(slacktest.Fault{Method: "apps.connections.open", Status: 500, Times: -1})
		sm := run(t, client(t, s))
		for range 20 {
			if err := sm.Ack(socketmode.Request{EnvelopeID: "e"}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := sm.AckCtx(ctx, "e", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the 21st with a timeout: %v", err)
		}
		acked := make(chan error, 1)
		go func() { acked <- sm.Ack(socketmode.Request{EnvelopeID: "e"}) }()
		select {
		case err := <-acked:
			t.Errorf("the 21st ended with %v; the defect is that it waits for a connection", err)
		case <-time.After(200 * time.Millisecond):
		}
		s.Heal()
		next(t, sm, socketmode.EventTypeHello)
		if err := <-acked; err != nil {
			t.Errorf("the 21st, at last: %v", err)
		}
	})

	t.Run("a token of the wrong type is tried for ever, and one call tells it", func(t *testing.T) {
		s := start(t, calm())
		api := client(t, s, slack.OptionAppLevelToken(slacktest.BotToken))
		if _, _, err := api.StartSocketModeContext(t.Context()); code(err) != "not_allowed_token_type" {
			t.Errorf("one call: %v", err)
		}
		run(t, api)
		eventually(t, s, "four tries", func() bool { return len(s.Calls("apps.connections.open")) >= 4 })
	})

	t.Run("a wrong token of the right type ends it", func(t *testing.T) {
		s := start(t, calm())
		sm := socketmode.New(client(t, s, slack.OptionAppLevelToken("xapp-other")))
		if err := sm.RunContext(t.Context()); code(err) != "invalid_auth" {
			t.Errorf("got %v", err)
		}
	})

	t.Run("its watchdog reconnects where no PING comes", func(t *testing.T) {
		o := calm()
		o.PingEvery = -1
		s := start(t, o)
		sm := run(t, client(t, s), socketmode.OptionPingInterval(500*time.Millisecond))
		next(t, sm, socketmode.EventTypeHello)
		next(t, sm, socketmode.EventTypeHello)
	})

	t.Run("its watchdog finds a half-open socket", func(t *testing.T) {
		o := calm()
		o.PingEvery = 30 * time.Millisecond
		s := start(t, o)
		sm := run(t, client(t, s), socketmode.OptionPingInterval(3*time.Second))
		next(t, sm, socketmode.EventTypeHello)
		if s.Wait(4*time.Second, func() bool { return len(s.Calls("apps.connections.open")) != 1 }) {
			t.Fatal("it connected again while the PINGs came")
		}
		s.Sockets()[0].Freeze()
		next(t, sm, socketmode.EventTypeHello)
	})

	t.Run("a blocked event loop gets four copies of one event", func(t *testing.T) {
		s := start(t, hasty())
		ann := s.AddUser("ann")
		dm := s.DM(ann)
		sm := run(t, client(t, s))
		next(t, sm, socketmode.EventTypeHello)
		s.Say(slacktest.Post{Channel: dm, User: ann, Text: "are you there?"})
		settled(t, s) // the loop is busy until Slack has given up
		var envelopes, events []string
		for range 4 {
			request := next(t, sm, socketmode.EventTypeEventsAPI).Request
			var payload struct {
				EventID string `json:"event_id"`
			}
			if err := json.Unmarshal(request.Payload, &payload); err != nil {
				t.Fatal(err)
			}
			envelopes, events = append(envelopes, request.EnvelopeID), append(events, payload.EventID)
		}
		slices.Sort(envelopes)
		if len(slices.Compact(envelopes)) != 4 || len(slices.Compact(events)) != 1 {
			t.Errorf("envelopes %v, events %v", envelopes, events)
		}
		if n := len(s.Deliveries()); n != 4 {
			t.Errorf("%d deliveries", n)
		}
	})

	t.Run("it reconnects after every end of a socket", func(t *testing.T) {
		for name, end := range map[string]func(*slacktest.Socket){
			"refresh_requested": func(k *slacktest.Socket) { k.Disconnect("refresh_requested") },
			"warning":           func(k *slacktest.Socket) { k.Disconnect("warning") },
			"cut":               (*slacktest.Socket).Cut,
			"cut in mid-frame":  (*slacktest.Socket).CutMidFrame,
		} {
			t.Run(name, func(t *testing.T) {
				s := start(t, calm())
				sm := run(t, client(t, s))
				next(t, sm, socketmode.EventTypeHello)
				first := s.Sockets()[0]
				end(first)
				next(t, sm, socketmode.EventTypeHello)
				eventually(t, s, "the old socket is gone", func() bool { return len(s.Sockets()) == 1 && s.Sockets()[0] != first })
			})
		}
	})

	t.Run("an acknowledgement of 20 KB is refused before it is sent", func(t *testing.T) {
		s := start(t, calm())
		sm := run(t, client(t, s))
		next(t, sm, socketmode.EventTypeHello)
		if err := sm.AckCtx(t.Context(), "e", map[string]string{"text": string(make([]byte, 20*1024))}); err == nil {
			t.Error("it was sent")
		}
	})
}
