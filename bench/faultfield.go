package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/llmtest"
)

// faultField is a bot with many conversations, each with its own provider.
type faultField struct {
	*bot
	log *faultLog

	mu        sync.Mutex // guards providers
	providers map[string]*provider
}

func openFaultField(ctx context.Context) (f *faultField, err error) {
	f = &faultField{providers: map[string]*provider{}, log: &faultLog{warned: map[string][]string{}, ended: map[string]int{}}}
	f.bot, err = openBot(ctx, "", channel.Options{
		Log: slog.New(slog.NewJSONHandler(f.log, nil)), Workers: 16,
		Agent: func(conversation string) channel.Agent {
			f.mu.Lock()
			defer f.mu.Unlock()
			p := f.providers[conversation]
			return channel.Agent{Model: p, Worker: p, MaxOutput: 1000, Policy: compactor.DefaultPolicy}
		},
	})
	if err == nil {
		f.connector.tolerant = true
	}
	return f, err
}

// trial is one occurrence of one fault.
type trial struct {
	fault    llmtest.Fault
	position string
	seed     uint64

	answered  bool // people got an answer, or the summary was applied
	notified  bool // people got a sentence about the failure, or the summary was reported as failed
	continued bool // afterwards the next question was answered, or the next summary made
	lost      int  // messages
	requests  int  // of the turn or the summary
	warnings  int
	broken    []string // broken promises, in words
}

func (t *trial) fail(format string, args ...any) {
	t.broken = append(t.broken, t.position+": "+fmt.Sprintf(format, args...))
}

// internals matches what a sentence for people must not contain.
var internals = regexp.MustCompile(`(?i)\bhttp\b|json|127\.0\.0\.1|10\.0\.0|\bEOF\b|dial|tcp|goroutine|nginx|engine crashed|invalid_|HALF OF`)

// brokeOff begins the sentence that ends half an answer.
const brokeOff = "(My answer broke off here: "

// withoutHalf returns a text without the half of an answer that it marks; marked is false if it marks none.
func withoutHalf(text string) (sentence string, marked bool) {
	if at := strings.Index(text, brokeOff); at >= 0 {
		return text[at:], true
	}
	return text, false
}

// run exposes one conversation to the fault, and then checks that it continues.
func (f *faultField) run(ctx context.Context, name string, t *trial) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	p, err := newProvider(t.fault)
	if err != nil {
		return err
	}
	defer func() {
		p.server.Close()
		p.server = nil // it stores every request
	}()
	f.mu.Lock()
	f.providers[name] = p
	f.mu.Unlock()
	words := rand.New(rand.NewPCG(t.seed, 1))
	said := past(12+int(t.seed%5), time.Unix(0, 0), func() string { return textOf(words, 60, pastWords) })
	for i := range said { // of one speaker, an answer of random words is a plausible summary
		said[i].Author = "Ada"
		said[i].AuthorID = ""
	}
	conv, err := f.store.conversation(ctx, name, said)
	if err != nil {
		return err
	}
	ask := func(n int) (reply, error) {
		id := fmt.Sprint(name, "-", n)
		if _, err := f.hub.Deliver(ctx, name, addressedNow(id, "How is the tea, number "+id+"?")); err != nil {
			return reply{}, err
		}
		piece, err := f.connector.await(ctx, id)
		return piece, errors.Join(err, f.hub.Idle(ctx, name))
	}
	asked := int(t.seed % 3) // turns before the fault
	for n := range asked {
		if piece, err := ask(n); err != nil || piece.Failure {
			return fmt.Errorf("a healthy provider was not heard: %q, %w", piece.Text, err)
		}
	}
	meet := f.turn
	if t.position == inSummary {
		meet = f.summary
	}
	n, err := meet(ctx, name, p, t, func() (reply, error) { asked++; return ask(asked - 1) })
	if err != nil {
		return err
	}
	t.requests = n
	return f.check(ctx, conv, t, name, len(said), asked)
}

// pastWords are the words of earlier messages: few, so that short answers are plausible summaries.
var pastWords = strings.Fields("the tea at the north pier is warm again and all is well there")

// Failures without a reason may mean that the prompt is too long, so there are more requests than retries alone need.
const (
	probes   = 1 // in a turn: a short request shows that the server fails for any
	searches = 4 // for a summary, whose requests alone fail: ever shorter ones look for the limit
)

// turn exposes a turn to the fault; then the provider recovers, and the conversation continues.
func (f *faultField) turn(ctx context.Context, name string, p *provider, t *trial, ask func() (reply, error)) (requests int, err error) {
	p.on(t.position)
	piece, err := ask()
	if err != nil {
		return 0, err
	}
	requests = int(p.turns.Load())
	if t.position == afterTool {
		requests -= 1 // without the request that called the tool
	}
	p.on("")
	sentence, marked := withoutHalf(piece.Text)
	t.notified = piece.Failure || marked
	t.answered = !t.notified
	if t.answered != t.fault.Answered {
		t.fail("people got %.60q", piece.Text)
	}
	if internals.MatchString(sentence) && t.notified || strings.Count(sentence, "\n") > 0 && t.notified || piece.Text == "" {
		t.fail("people were told %.120q", piece.Text)
	}
	most := t.fault.Most + probes
	if t.position == afterTool { // plus one with the tool, if the turn is started again
		most++
	}
	if requests > most {
		t.fail("%d requests, at most %d are expected", requests, most)
	}
	next, err := ask()
	if err != nil {
		return requests, err
	}
	applied, err := f.compact(ctx, name)
	t.continued = !next.Failure && next.Text == fine && applied
	return requests, err
}

// summary exposes a summary to the fault while people are answered; then the provider recovers, and
// the summary is made.
func (f *faultField) summary(ctx context.Context, name string, p *provider, t *trial, ask func() (reply, error)) (requests int, err error) {
	if _, err := ask(); err != nil {
		return 0, err
	}
	p.on(t.position)
	applied, err := f.compact(ctx, name)
	if err != nil {
		return 0, err
	}
	requests = int(p.turns.Load())
	t.answered = applied
	t.notified = !applied
	if applied != t.fault.Applied {
		t.fail("the summary was applied: %v", applied)
	}
	if most := compactor.DefaultPolicy().MaxTurns + searches; requests > most {
		t.fail("%d requests for a summary, at most %d are expected", requests, most)
	}
	next, err := ask()
	if err != nil {
		return requests, err
	}
	p.on("")
	if !applied {
		applied, err = f.compact(ctx, name)
		if err != nil {
			return requests, err
		}
	}
	t.continued = next.Text == fine && applied
	return requests, nil
}

// compact runs /compact and waits for its end; applied reports whether it succeeded. If a
// compaction is already running because the window is full, compact waits for it first.
func (f *faultField) compact(ctx context.Context, name string) (applied bool, err error) {
	for {
		answer, err := f.command(ctx, name, "/compact")
		if err != nil {
			return false, err
		}
		text := answer.Text
		if answer.Then != nil {
			text = answer.Then(ctx).String()
		}
		if !strings.Contains(text, "is running already") {
			applied = strings.HasPrefix(text, "Summarized ") || strings.HasPrefix(text, "Applied ") ||
				strings.Contains(text, "it was just compacted") || strings.Contains(text, "is too short") // an emergency left nothing to summarize
			return applied, f.hub.Idle(ctx, name)
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return false, err
		}
	}
}

// check checks the database and the log.
func (f *faultField) check(ctx context.Context, conv *store.Conversation, t *trial, name string, past, asked int) error {
	rows, err := conv.Transcript().Page(ctx, 1, 10_000)
	if err != nil {
		return err
	}
	people := 0
	for _, m := range rows {
		if m.Role == llm.RoleUser {
			people++
		}
		text, _ := withoutHalf(m.Text)
		if bad(text) || bad(string(m.Native)) || m.Role == llm.RoleAssistant && internals.MatchString(text) && !t.fault.Answered {
			t.fail("the transcript has %.80q", m.Text)
		}
	}
	t.lost = past + asked - people
	if t.lost != 0 {
		t.fail("%d messages are gone", t.lost)
	}
	stack, err := f.filled(ctx, conv)
	if err != nil {
		return err
	}
	for _, row := range stack {
		if bad(row.Text) || row.Kind == compactor.Placeholder {
			t.fail("the stack has %.80q", row.Text)
		}
	}
	warned, ended := f.log.take(name)
	t.warnings = len(warned)
	if t.notified && len(warned) != 1 || !t.notified && len(warned) != 0 {
		t.fail("warnings: %q", warned)
	}
	if ended != len(warned) {
		t.fail("%d ends of incidents, %d warnings", ended, len(warned))
	}
	if !t.continued {
		t.fail("the conversation did not go on")
	}
	return nil
}

// filled waits up to ten seconds until the stack has no placeholder, which normally takes at most
// one, and returns the stack.
func (f *faultField) filled(ctx context.Context, conv *store.Conversation) ([]compactor.Summary, error) {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		head, err := conv.Compactions().Head(ctx)
		empty := slices.ContainsFunc(head.Stack, func(row compactor.Summary) bool { return row.Kind == compactor.Placeholder })
		if err != nil || !empty || time.Now().After(end) {
			return head.Stack, err
		}
	}
}

// bad reports whether a text must not be stored.
func bad(text string) bool {
	return strings.Contains(text, strings.TrimSpace(llmtest.Half)) || strings.Contains(text, "\x00") || !utf8.ValidString(text)
}
