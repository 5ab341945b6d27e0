// Package hooks notifies the owner's programs and addresses of compactions, new memories and replies. A hook called
// before a compaction may veto it, or set what its summary should keep. No hook delays a turn: one that hangs, fails
// or floods is stopped after its timeout.
package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"

	"cairn/internal/observe"
)

// Names of hooks, as in settings and payloads.
const (
	Before   = "before_compaction"
	After    = "after_compaction"
	OnMemory = "on_memory"
	OnReply  = "on_reply"
)

// Names lists all hooks.
var Names = []string{Before, After, OnMemory, OnReply}

// Outcomes of a call.
const (
	OK      = "ok"
	Vetoed  = "veto"
	Failed  = "failed"
	Timeout = "timeout"
	Stopped = "stopped" // ended before its timeout: the bot ended, or the compaction was stopped
	Dropped = "dropped" // not called: too many events are waiting
)

// Outcomes lists all outcomes.
var Outcomes = []string{OK, Vetoed, Failed, Timeout, Stopped, Dropped}

// DefaultTimeout is the default of Settings.Timeout.
const DefaultTimeout = 10 * time.Second

// Settings configure which hooks are called.
type Settings struct {
	Call    map[string][]string // by the hook's name: a program and its arguments, or one URL
	Timeout time.Duration       // of a call; 0: DefaultTimeout
	Secret  string              // signs what is sent to a URL; "": unsigned
}

// Verdict is the answer of a hook that is called before a compaction.
type Verdict struct {
	Focus  string `json:"focus"`  // what the summary should keep; "": as proposed
	Reason string `json:"reason"` // of a veto
	Veto   bool   `json:"-"`
}

// maxWaiting is how many events may wait for their hook. Tests lower it.
var maxWaiting = 256

// Limits of a hook's answer.
const (
	maxOutput = 64 << 10 // bytes that are read; the rest is discarded
	maxReason = 200      // characters
	maxFocus  = 1000     // characters
)

// Hooks calls hooks. It is safe for concurrent use.
type Hooks struct {
	log     *slog.Logger
	count   func(hook, outcome string)
	ctx     context.Context // of all calls
	cancel  context.CancelFunc
	workers sync.WaitGroup               // one for each hook, so that one that hangs does not delay others
	failing map[string]*observe.Incident // by hook

	mu       sync.Mutex // guards all below
	settings Settings
	waiting  map[string]chan []byte // queued events by hook; nil after Close
}

// New returns hooks that call nothing yet. count receives the outcome of each call.
func New(log *slog.Logger, count func(hook, outcome string)) *Hooks {
	h := &Hooks{log: log, count: count, failing: map[string]*observe.Incident{}, waiting: map[string]chan []byte{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	for _, hook := range Names {
		queue := make(chan []byte, maxWaiting)
		h.waiting[hook] = queue
		h.failing[hook] = new(observe.Incident)
		h.workers.Go(func() { h.work(hook, queue) })
	}
	return h
}

// Update sets the settings for the following calls.
func (h *Hooks) Update(s Settings) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Timeout = cmp.Or(s.Timeout, DefaultTimeout)
	h.settings = s
}

// Tell queues an event for a hook: a struct or a map, which is sent as a JSON object. It does not wait.
func (h *Hooks) Tell(hook string, e any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.settings.Call[hook]) == 0 {
		return
	}
	select {
	case h.waiting[hook] <- bodyOf(hook, e):
	default: // the queue is full, or closed
		h.count(hook, Dropped)
		h.log.Log(h.ctx, h.failing[hook].Begin(), "hook_not_called", "hook", hook, "waiting", len(h.waiting[hook]), "error", "too many events are queued")
	}
}

// work calls a hook with its queued events, one after the other.
func (h *Hooks) work(hook string, queue <-chan []byte) {
	for body := range queue {
		if h.ctx.Err() == nil {
			h.call(h.ctx, hook, body)
			continue
		}
		left := len(queue) + 1 // the bot is stopping, so nothing is added
		for range left {
			h.count(hook, Dropped)
		}
		h.log.Warn("hook_not_called", "hook", hook, "waiting", left, "error", "the bot stopped")
		return
	}
}

// Ask calls a hook and returns its verdict. A hook that fails does not veto.
func (h *Hooks) Ask(ctx context.Context, hook string, e any) Verdict {
	return h.call(ctx, hook, bodyOf(hook, e))
}

// Close waits for queued events for at most the timeout of one call, and cancels the rest.
func (h *Hooks) Close() {
	h.mu.Lock()
	for _, queue := range h.waiting {
		close(queue)
	}
	h.waiting = nil
	limit := time.AfterFunc(cmp.Or(h.settings.Timeout, DefaultTimeout), h.cancel)
	h.mu.Unlock()
	h.workers.Wait()
	limit.Stop()
	h.cancel()
}

// errVeto is returned by a call that vetoes.
var errVeto = errors.New("forbidden")

func (h *Hooks) call(ctx context.Context, hook string, body []byte) Verdict {
	h.mu.Lock()
	s := h.settings
	queue := h.waiting[hook]
	h.mu.Unlock()
	target := s.Call[hook]
	if len(target) == 0 { // none, or removed since
		return Verdict{}
	}
	limited, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	began := time.Now()
	var said []byte
	var err error
	if IsURL(target) {
		said, err = post(limited, target[0], s.Secret, hook, body)
	} else {
		said, err = run(limited, target, body)
	}
	v := Verdict{}
	outcome := OK
	answer := verdictOf(said)
	switch {
	case err == nil:
		v.Focus = answer.Focus
	case hook == Before && errors.Is(err, errVeto):
		v = Verdict{Veto: true, Reason: cmp.Or(answer.Reason, "a hook refused it")}
		outcome = Vetoed
	case ctx.Err() != nil:
		outcome = Stopped
	case limited.Err() != nil:
		outcome = Timeout
	default:
		outcome = Failed
	}
	h.count(hook, outcome)
	seconds := time.Since(began).Seconds()
	switch outcome {
	case Failed, Timeout:
		h.log.Log(h.ctx, h.failing[hook].Begin(), "hook_failed", "hook", hook, "outcome", outcome, "error", err, "seconds", seconds)
	case Stopped:
		if h.ctx.Err() != nil {
			h.log.Info("hook_stopped", "hook", hook, "reason", "the bot ended", "seconds", seconds)
		}
	default:
		if len(queue) == 0 && h.failing[hook].End() { // while events wait, it may still be too slow
			h.log.Info("hook_recovered", "hook", hook)
		}
	}
	return v
}

// IsURL reports whether a hook is an address and not a program.
func IsURL(target []string) bool {
	return len(target) == 1 && (strings.HasPrefix(target[0], "http://") || strings.HasPrefix(target[0], "https://"))
}

// verdictOf parses a hook's answer: an object, or for a veto also a reason as text.
func verdictOf(said []byte) (v Verdict) {
	text := strings.TrimSpace(string(said))
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		v.Reason, _, _ = strings.Cut(text, "\n")
	}
	v.Focus, v.Reason = clip(v.Focus, maxFocus), clip(v.Reason, maxReason)
	return v
}

// clip returns text on one line of at most most characters, without control characters.
func clip(text string, most int) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// bodyOf returns an event, which has fields, as the hook receives it, with the fields hook and time.
func bodyOf(hook string, e any) []byte {
	text, err := json.Marshal(e)
	if err != nil { // a programming error: an event cannot be encoded
		panic(err)
	}
	return fmt.Appendf(nil, `{"hook":%q,"time":%q,%s`, hook, time.Now().UTC().Format(time.RFC3339), text[1:])
}
