package worker_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor/summarize"
	"cairn/compactor/worker"
	"cairn/llm"
	"cairn/memory"
	"cairn/prompts"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// rig is a conversation on disk and what summarizes it.
type rig struct {
	t      testing.TB
	conv   *store.Conversation
	by     *worker.Worker
	assign worker.Assignment // of the next summary, without its row and its lengths
	asked  func() []llm.Request
	last   int64 // seq, summarized or not
	to     int64 // seq, summarized or tried
}

// learner is a model about which things are learned.
type learner struct {
	llm.Model
	learned llm.Learned
}

func (l *learner) Learned() *llm.Learned { return &l.learned }

func newRig(t testing.TB, model llm.Model) *rig {
	t.Helper()
	r := &rig{t: t, conv: storetest.NewConversation(t)}
	r.by = &worker.Worker{
		Model: model, Texts: prompts.In(prompts.English), System: "You are a test.",
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	}
	if scripted, ok := model.(*llmtest.Model); ok {
		r.asked = scripted.Requests
		r.by.Model = &learner{Model: scripted}
	}
	r.assign = worker.Assignment{
		Strategy: worker.StrategyOf(worker.StrategyWorker), ByModel: true, Percent: 20,
		Memories: 20, MaxCalls: 10, MaxDeclines: 3, Timeout: 2 * time.Minute,
	}
	return r
}

// say appends messages of Ada.
func (r *rig) say(texts ...string) {
	r.t.Helper()
	said := make([]store.Inbound, len(texts))
	for i, text := range texts {
		r.last++
		said[i] = store.Inbound{
			ID: fmt.Sprint("m", r.last), AuthorID: "u1", Author: "Ada", Text: text,
			Time: time.Date(2026, 1, 1, 0, int(r.last), 0, 0, time.UTC),
		}
	}
	check.Must(r.conv.Past().Import(r.t.Context(), said))(r.t)
}

// chat appends n notes.
func (r *rig) chat(n int) {
	r.t.Helper()
	for i := range n {
		r.say(note(i))
	}
}

func note(i int) string { return fmt.Sprintf("note-%d %s", i, strings.Repeat("word ", 40)) }

// summarize summarizes what was not summarized yet, and stores the summary, or why there is none.
func (r *rig) summarize() (summarize.Summary, error) {
	r.t.Helper()
	ctx := context.WithoutCancel(r.t.Context())
	a := r.assign
	a.Row.Kind = cmp.Or(a.Row.Kind, transcript.Leaf)
	a.Row.By = transcript.Worker
	a.Row.Trigger = transcript.OnBackground
	a.Row.Span = transcript.Span{From: r.to + 1, To: r.last}
	a.Row.Messages = int(r.last - r.to)
	a.Row.FromTime = storetest.Day
	a.Row.ToTime = storetest.Day
	job := check.Must(memory.Of(r.conv).Records().Begin(ctx, a.Row))(r.t)
	size := 0
	for _, m := range check.Must(job.Messages(ctx, a.Row.Span))(r.t) {
		size += m.Tokens
	}
	a.Row.ID = job.ID()
	a.Limit = 5000
	a.Target = worker.Length(size, a.Percent, a.Limit)
	r.to = r.last
	s, err := r.by.Summarize(ctx, a, job)
	if err != nil {
		check.NoError(r.t, check.ErrorOf(job.Fail(ctx, err.Error())))
		return s, err
	}
	s.Lines = a.Row.LinesIn(s.Lines)
	check.NoError(r.t, check.ErrorOf(job.Store(ctx, s)))
	return s, nil
}

func (r *rig) memories() []memory.Memory {
	r.t.Helper()
	found, _, err := memory.Of(r.conv).List(r.t.Context(), memory.Filter{})
	check.NoError(r.t, err)
	return found
}

// onClock runs a subtest on a clock of its own.
func onClock(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
}

func summary(text string) llm.Response { return llmtest.Use(summarizing(text)) }

func summarizing(text string) llm.Call {
	return llmtest.Call("s", "summarize", map[string]string{"summary": text})
}

// saving returns a call of memory_save with memories of these messages.
func saving(id string, seqs ...int) llm.Call {
	memories := []map[string]any{}
	for _, seq := range seqs {
		memories = append(memories, map[string]any{"content": fmt.Sprintf("Ada wrote note-%d.", seq-1), "kind": "fact", "messages": []int{seq}})
	}
	return llmtest.Call(id, "memory_save", map[string]any{"memories": memories})
}

const whatAdaWrote = "Ada wrote notes, from note-0 on."

func answers(answer llm.Response, err error) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(context.Context, int, llm.Request) (llm.Response, error) { return answer, err }
}

// withoutTools returns a model whose server takes no tools, and which answers in text.
func withoutTools(text string) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 {
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "this model does not support tools"}
		}
		return llmtest.Say(text), nil
	}
}

func savesMemories(req llm.Request) bool {
	return slices.ContainsFunc(req.Tools, func(tool llm.Tool) bool { return tool.Name == "memory_save" })
}

// materialIn returns the span in a request, without the text for reference.
func materialIn(req llm.Request) string {
	return textBetween(req.Messages[1].Text, "<transcript>\n", "\n</transcript>")
}

func textBetween(text, open, end string) string {
	_, text, found := strings.Cut(text, open)
	text, _, ended := strings.Cut(text, end)
	if !found || !ended {
		return ""
	}
	return text
}

// spanOf returns the first and the last message that a request is about, and the length that it asks for.
func spanOf(req llm.Request) (from, to, about int) {
	found := asked.FindAllStringSubmatch(req.Messages[1].Text, -1)
	_, _ = fmt.Sscan(strings.Join(found[len(found)-1][1:], " "), &from, &to, &about)
	return from, to, about
}

var asked = regexp.MustCompile(`Summarize messages #(\d+) to #(\d+) in about (\d+) tokens`)
