package channel_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestAMessageDeletedWhileItIsAnswered(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			close(began)
			<-release
		}
		return echo(ctx, n, req)
	})
	r.say("the secret is swordfish", true)
	<-began
	noError(t, r.hub.Delete(t.Context(), place, "m1"))
	close(release)
	if !r.settles(3 * time.Second) {
		t.Error("the conversation could not go on")
	}
	if sent := strings.Join(r.connector.texts(), "|"); strings.Contains(sent, "disk") {
		t.Errorf("people were told: %s", sent)
	}
}

func TestAMessageDeletedWhileItsTurnIsTriedAgain(t *testing.T) {
	var log strings.Builder
	r := newRig(t, nil)
	r.hub.Close()
	r.hub = channel.New(channel.Options{
		Store: r.store, Connectors: []channel.Connector{r.connector}, Agent: func(string) channel.Agent { return r.agent },
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if err := r.hub.Delete(t.Context(), place, "m1"); err != nil {
			t.Error(err)
		}
		return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "busy"}
	}
	r.say("hello", true)
	r.settles(time.Second)
	r.stop()
	if strings.Contains(log.String(), "conversation_stalled") {
		t.Error(log.String())
	}
}

func TestWhatIsDeletedDuringATurnIsShownNoMore(t *testing.T) {
	r := newRig(t, nil)
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			if err := r.hub.Delete(t.Context(), place, "m1"); err != nil {
				t.Error(err)
			}
			return llmtest.Use(llmtest.Call("c1", "recall", map[string]any{"query": "x"})), nil
		}
		for _, m := range req.Messages {
			if strings.Contains(m.Text, "swordfish") {
				t.Errorf("the model is shown a deleted message in request %d", n)
			}
		}
		return echo(ctx, n, req)
	}
	r.say("the secret is swordfish", false)
	r.say("hello", true)
	r.idle()
}
