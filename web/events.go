// Events: what happens in the conversations, for watchers.

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cairn/channel"
	"cairn/internal/observe"
)

const (
	kindMemory   = "memory"
	kindReply    = "reply"
	kindIncident = "incident"
	kindLog      = "log"   // a line of the log that is no incident
	kindReset    = "reset" // some events were missed: reload everything

	// Of conversations of terminals.
	kindAccepted = "accepted" // a message is on disk
	kindSpent    = "spent"    // what a model request used
	kindIdle     = "idle"     // somebody has waited for an answer, and it was sent before
)

// allKinds are the kinds of events. "approval": the pending approvals of tool calls have changed.
var allKinds = []string{
	"turn", "usage", "compaction", kindMemory, "task", kindIncident, kindLog, "approval", kindReply, kindAccepted, kindSpent, kindIdle, kindReset,
}

// event is one event of a conversation, or of the bot.
type event struct {
	kind         string
	conversation string // "": of no single conversation
	data         any
	json         []byte // data
	number       int64  // 0: it is not kept
}

const (
	keptEvents    = 1024 // for watchers that reconnect
	pendingEvents = 256  // more for a slow one
	maxWatchers   = 100
	heartbeat     = 15 * time.Second // interval of keep-alive comments
)

// Events sends events to watchers. It never blocks: a watcher that reads too slowly is dropped, and
// may reconnect for the events it has missed. It is safe for concurrent use.
type Events struct {
	// Mask removes secrets from an attribute of an incident; nil: there are none.
	Mask func(groups []string, a slog.Attr) slog.Attr

	mu       sync.Mutex         // guards everything below
	kept     []event            // the newest events, oldest first
	last     int64              // number of the newest event
	lines    []logLine          // the newest lines of the log, oldest first
	watchers map[watcher]string // with the conversation in which a person or a program answers questions there, see attended
}

// watcher is one subscriber. It is closed if it reads too slowly.
type watcher chan event

// NewEvents returns events whose numbers begin with the time of the start, so that those of an earlier process are
// smaller.
func NewEvents() *Events {
	return &Events{last: time.Now().UnixMicro(), watchers: make(map[watcher]string)}
}

// publish sends an event to all watchers, and keeps it for those that reconnect.
func (e *Events) publish(kind, conversation string, data any) { e.send(kind, conversation, data, true) }

func (e *Events) send(kind, conversation string, data any, keep bool) {
	one := event{kind: kind, conversation: conversation, data: data, json: encoded(data)}
	e.mu.Lock()
	defer e.mu.Unlock()
	if keep {
		e.last++
		one.number = e.last
		kept := one
		kept.data = withoutText(data)
		kept.json = encoded(kept.data)
		e.kept = append(e.kept[max(len(e.kept)-keptEvents+1, 0):], kept)
	}
	for w := range e.watchers {
		select {
		case w <- one:
		default:
			delete(e.watchers, w)
			close(w)
		}
	}
}

// changed publishes that something about a conversation has changed that is no turn.
func (e *Events) changed(conversation string) {
	e.send("turn", conversation, turnEvent{Conversation: conversation, State: "changed", Time: time.Now().UTC()}, true)
}

// forget removes what kept events say of a conversation that was deleted.
func (e *Events) forget(conversation string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, one := range e.kept {
		if one.conversation == conversation {
			e.kept[i] = event{kind: kindReset, json: []byte("{}"), number: one.number}
		}
	}
}

// withoutText returns the data of an event without what people and models have written: a kept event outlives that.
func withoutText(data any) any {
	switch d := data.(type) {
	case memoryEvent:
		d.Content = ""
		return d
	case channel.Task:
		d.Text = ""
		return d
	case compactionEvent:
		d.Summary = ""
		return d
	case replyEvent:
		isNotice := d.Failure && d.Buttons == nil // notices are not in the transcript, from which others can be read
		if !isNotice {
			d.Text = ""
		}
		return d
	}
	return data
}

func encoded(data any) []byte {
	text, err := json.Marshal(data)
	if err != nil { // a programming error: the type cannot be encoded
		panic(err)
	}
	return text
}

// watch returns a watcher, which first gets the events it has missed since the event with this id; only
// a reset if the id is from another process or too old. It returns nil if there are too many watchers.
func (e *Events) watch(id, attends string) watcher {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.watchers) >= maxWatchers {
		return nil
	}
	w := make(watcher, keptEvents+pendingEvents)
	e.watchers[w] = attends
	switch seen, err := strconv.ParseInt(id, 10, 64); {
	case id == "":
	case err != nil || seen < e.last-int64(len(e.kept)) || seen > e.last:
		w <- event{kind: kindReset, json: []byte("{}"), number: e.last}
	default:
		for _, one := range e.kept[len(e.kept)-int(e.last-seen):] {
			w <- one
		}
	}
	return w
}

// keptOf returns the data of a type in the kept events, oldest first.
func keptOf[T any](e *Events) (all []T) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.kept {
		if data, ok := one.data.(T); ok {
			all = append(all, data)
		}
	}
	return all
}

// newest returns the number of the newest event.
func (e *Events) newest() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

func (e *Events) unwatch(w watcher) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, open := e.watchers[w]; open {
		delete(e.watchers, w)
		close(w)
	}
}

// attended reports whether a watcher answers questions in a conversation. One that attends "terminal:" does so in all of terminals.
func (e *Events) attended(conversation string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, attends := range e.watchers {
		if attends != "" && (attends == conversation || strings.HasSuffix(attends, ":") && strings.HasPrefix(conversation, attends)) {
			return true
		}
	}
	return false
}

// mark publishes that somebody has waited for a conversation, and returns the number of that event: who has seen it has seen all before.
func (e *Events) mark(conversation string) int64 {
	e.publish(kindIdle, conversation, map[string]string{"conversation": conversation})
	return e.newest()
}

type turnEvent struct {
	Conversation string    `json:"conversation"`
	State        string    `json:"state" jsonschema:"started, answered, failed, stopped, passed or interrupted; changed: something happened in a conversation of another process"`
	Turn         int64     `json:"turn,omitempty" jsonschema:"seq of its first message; known at the end"`
	Seconds      float64   `json:"seconds,omitempty"`
	Time         time.Time `json:"time"`
}

var _ observe.Observer = (*Events)(nil)

func (e *Events) Begin(ctx context.Context, s *observe.Step) context.Context {
	if s.Kind == observe.Turn {
		e.publish("turn", s.Conversation, turnEvent{Conversation: s.Conversation, State: "started", Time: time.Now().UTC()})
	}
	return ctx
}

// Event does nothing: compactions come through Compaction.
func (e *Events) Event(*observe.Step, string, []slog.Attr) {}

// End publishes the end of a turn, with its outcome, and how full the window is then.
func (e *Events) End(s *observe.Step) {
	if s.Kind != observe.Turn {
		return
	}
	now := time.Now()
	e.publish("turn", s.Conversation, turnEvent{
		Conversation: s.Conversation, State: s.Attr("outcome"), Turn: s.Number("turn"), Seconds: now.Sub(s.Began).Seconds(), Time: now.UTC(),
	})
	e.publishUsage(s.Conversation, int(s.Number("used_tokens")), int(s.Number("max_tokens")))
}

type memoryEvent struct {
	Conversation string `json:"conversation"`
	ID           int64  `json:"id"`
	Change       string `json:"change" jsonschema:"saved, changed, forgotten, restored or purged"`
	Kind         string `json:"kind,omitempty"`
	Content      string `json:"content,omitempty"`
}

// Asked publishes that the pending approvals of a conversation have changed.
func (e *Events) Asked(conversation string) {
	e.publish("approval", conversation, map[string]string{"conversation": conversation})
}

// Task publishes the start, progress or end of a task, in the conversation that started it.
func (e *Events) Task(t channel.Task) { e.publish("task", t.Parent, t) }

func (e *Events) Remembered(conversation string, id int64, kind, content string) {
	e.publish(kindMemory, conversation, memoryEvent{conversation, id, "saved", kind, content})
}

// serve streams events until the client disconnects, reads too slowly, or the server closes.
func (e *Events) serve(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	kinds := slices.DeleteFunc(slices.Clone(allKinds), func(kind string) bool { return kind == kindLog }) // there are many
	conversation := q.Get("conversation")
	if q.Get("kinds") != "" {
		kinds = strings.Split(q.Get("kinds"), ",")
	}
	for _, kind := range kinds {
		if !slices.Contains(allKinds, kind) {
			return bad("kinds = %q: must be one or more of %s, separated by commas.", q.Get("kinds"), strings.Join(allKinds, ", "))
		}
	}
	watcher := e.watch(r.Header.Get("Last-Event-ID"), q.Get("attends"))
	if watcher == nil {
		return problem(http.StatusServiceUnavailable, "%d clients are watching already. Close some.", maxWatchers)
	}
	defer e.unwatch(watcher)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	text := "retry: 2000\n" // milliseconds until a client reconnects
	if r.Header.Get("Last-Event-ID") == "" {
		text += fmt.Sprintf("id: %d\n", e.newest()) // for a client that is disconnected before the first event
	}
	text += "\n"
	for {
		if _, err := io.WriteString(w, text); err != nil || http.NewResponseController(w).Flush() != nil {
			return nil
		}
		text = ""
		select {
		case <-r.Context().Done():
			return nil
		case <-alive.C:
			text = ": alive\n\n"
		case one, open := <-watcher:
			switch {
			case !open: // too slow: the client reconnects for the rest
				return nil
			case one.kind != kindReset && (conversation != "" && one.conversation != conversation || !slices.Contains(kinds, one.kind)):
				continue
			case one.number > 0:
				text = fmt.Sprintf("id: %d\n", one.number)
			}
			text += fmt.Sprintf("event: %s\ndata: %s\n\n", one.kind, one.json)
		}
	}
}
