// Requests about a conversation that another process of the bot owns: that process handles them, because what a conversation does now is
// in the memory of its owner. They reach it through the database. Streams of events are not passed on; they show what is stored.

package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"cairn/channel"
	"cairn/config"
	"cairn/store"
)

// relayRequest is the kind of these requests among those between processes.
const relayRequest = "http"

type relayedRequest struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte
	Slow   bool // the answer may take any time
}

type relayedAnswer struct {
	Status int
	Header http.Header
	Body   []byte
}

// relayed marks the context of a request from another process: it is not passed on once more.
type relayed struct{}

// conversationIn returns the conversation that a request is about; "": none.
func conversationIn(r *http.Request) string {
	if chat := r.PathValue("chat"); chat != "" {
		return config.WebName + ":" + chat
	}
	if name := r.PathValue("conversation"); name != "" {
		return name
	}
	return r.PathValue("name") // of a page
}

// byOwner has a request handled by the process that owns the conversation which it is about; slow: that may take any time.
func (t *router) byOwner(h handler, slow bool) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		name := conversationIn(r)
		if t.fleet == nil || name == "" || r.Context().Value(relayed{}) != nil {
			return h(w, r)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		here := func() error {
			r.Body = io.NopCloser(bytes.NewReader(body))
			return h(w, r)
		}
		elsewhere, err := t.fleet.OwnedElsewhere(r.Context(), name)
		if err != nil {
			return err
		}
		if !elsewhere {
			err = here()
			if !errors.Is(err, store.ErrOwned) { // nothing is written yet: fail does that
				return err
			}
		}
		err = t.relay(w, r, name, body, slow)
		if errors.Is(err, store.ErrOwned) && r.Method == http.MethodGet { // the owner is just stopping: what is stored can be shown
			return here()
		}
		return err
	}
}

// relay passes a request on, and the answer back.
func (t *router) relay(w http.ResponseWriter, r *http.Request, name string, body []byte, slow bool) error {
	header := http.Header{}
	for _, one := range []string{"Accept", "Accept-Language", "Content-Type", "Origin"} {
		header[one] = r.Header[one]
	}
	asked, err := json.Marshal(relayedRequest{r.Method, r.URL.RequestURI(), header, body, slow})
	if err != nil {
		return err
	}
	text, conclude, err := t.fleet.Ask(r.Context(), name, relayRequest, asked)
	if err == nil && conclude != nil {
		text, err = conclude(r.Context())
	}
	if err != nil {
		return err
	}
	var answered relayedAnswer
	if err := json.Unmarshal(text, &answered); err != nil {
		return fmt.Errorf("read the answer of another process: %w", err)
	}
	for name, values := range answered.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answered.Status)
	_, _ = w.Write(answered.Body) // the client may be gone
	return nil
}

// answerRelayed handles a request that another process has passed on, after it has checked who makes it.
func (t *router) answerRelayed(ctx context.Context, _ string, body []byte) (answer []byte, conclude func(context.Context) []byte) {
	var asked relayedRequest
	err := json.Unmarshal(body, &asked)
	handled := func(ctx context.Context) []byte {
		var text []byte
		if err == nil {
			text, err = t.handleRelayed(ctx, asked)
		}
		if err != nil {
			t.log.Warn("relayed_request_failed", "error", err)
			text = encoded(relayedAnswer{Status: http.StatusInternalServerError})
		}
		return text
	}
	if asked.Slow {
		return encoded(relayedAnswer{}), handled
	}
	return handled(ctx), nil
}

func (t *router) handleRelayed(ctx context.Context, asked relayedRequest) ([]byte, error) {
	r, err := http.NewRequestWithContext(context.WithValue(ctx, relayed{}, true), asked.Method, "http://localhost"+asked.URL, bytes.NewReader(asked.Body))
	if err != nil {
		return nil, err
	}
	r.Header = asked.Header
	answer, err := inProcess{t.recovered()}.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(answer.Body)
	return encoded(relayedAnswer{answer.StatusCode, answer.Header, text}), err
}

const followEvery = time.Second

// follow publishes, while somebody watches, which conversations of other processes have changed.
func (e *Events) follow(ctx context.Context, fleet *channel.Fleet) {
	var before map[string]string
	for ctx.Err() == nil {
		select {
		case <-time.After(followEvery):
		case <-ctx.Done():
			return
		}
		if !e.watched() {
			before = nil
			continue
		}
		now, err := fleet.MarksElsewhere(ctx)
		if err != nil { // the log says so elsewhere
			continue
		}
		if before == nil { // the watcher may have read what has changed since
			e.send(kindReset, "", struct{}{}, false)
		}
		for name, mark := range now {
			if was, known := before[name]; before != nil && (!known || was != mark) {
				e.publish("turn", name, turnEvent{Conversation: name, State: "changed", Time: time.Now().UTC()})
			}
		}
		before = now
	}
}

// watched reports whether there are watchers.
func (e *Events) watched() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.watchers) > 0
}
