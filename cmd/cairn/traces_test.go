package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

type collector struct {
	mu      sync.Mutex        // guards the rest
	key     string            // the header Api-Key of the last request
	service map[string]string // attributes of the program
	spans   []*tracepb.Span
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var batch tracepb.TracesData
	err = errors.Join(err, proto.Unmarshal(body, &batch))
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "no", http.StatusServiceUnavailable)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key = r.Header.Get("Api-Key")
	for _, from := range batch.GetResourceSpans() {
		c.service = values(from.GetResource().GetAttributes())
		for _, scope := range from.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
}

func values(attrs []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range attrs {
		all[a.GetKey()] = a.GetValue().GetStringValue()
		if n, ok := a.GetValue().GetValue().(*commonpb.AnyValue_IntValue); ok {
			all[a.GetKey()] = strconv.FormatInt(n.IntValue, 10)
		}
	}
	return all
}

// find returns the first span of a name that has an attribute, with all its attributes.
func (c *collector) find(t *testing.T, name, key, value string) (*tracepb.Span, map[string]string) {
	t.Helper()
	i := slices.IndexFunc(c.spans, func(s *tracepb.Span) bool { return s.GetName() == name && values(s.GetAttributes())[key] == value })
	check.Require(t, i >= 0, "got no span %q with %s = %s among %v", name, key, value, c.spans)
	return c.spans[i], values(c.spans[i].GetAttributes())
}

// traced runs a conversation with a turn that uses a tool, a failed turn and a requested summary.
func traced(t *testing.T, env ...string) (stderr string) {
	t.Helper()
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		last := x.Request.Last()
		switch {
		case isWorker(x):
			x.Use("s", "summarize", `{"summary":"Ada likes green tea and asked about it twice; the bot answered her in a friendly way."}`)
		case strings.Contains(last.Text(), "break"):
			x.Refuse(http.StatusUnauthorized, "", `{"error":{"message":"wrong hush-hush"}}`)
		case last.Role == llm.RoleUser && strings.Contains(last.Text(), "search"):
			x.Use("r", "recall", `{"question":"tea"}`)
		default:
			x.Say("Here it is.")
		}
	})
	p := newFolder(t, append(env, modelAt(server)...)...).with("[defaults.compaction]\nkeep_last_n = 0\nkeep_first = 0\n")
	l := p.start("chat", "--json", "--log-level", "info")
	tea := [2]string{strings.Repeat("I like green tea very much, for it is good. ", 6), "Here it is."}
	for _, c := range [][2]string{
		tea, tea, tea, tea, tea, tea, {"search for tea", "Here it is."}, {"/compact", `"state":"applied"`}, {"break", "rejects my API key"},
	} {
		l.ask(fmt.Sprintf(`{"text":%q}`, c[0]), c[1])
	}
	l.end()
	return l.errs.String()
}

func TestTraces(t *testing.T) {
	var c collector
	server := httptest.NewServer(&c)
	t.Cleanup(server.Close)
	stderr := traced(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=hush%20token", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment=test")
	check.Contains(t, "the log", stderr, "traces_sent")
	c.mu.Lock()
	defer c.mu.Unlock()
	check.Equal(t, "key and resource", c.key+" "+c.service["service.name"]+" "+c.service["deployment.environment"], "hush token cairn test")

	// A turn has its requests and tools as parts.
	tool, has := c.find(t, "execute_tool recall", "gen_ai.tool.name", "recall")
	check.Equal(t, "operation", has["gen_ai.operation.name"], "execute_tool")
	parts := map[string]int{}
	for _, s := range c.spans {
		if slices.Equal(s.GetTraceId(), tool.GetTraceId()) {
			parts[s.GetName()]++
		}
		if slices.Equal(s.GetSpanId(), tool.GetParentSpanId()) {
			has = values(s.GetAttributes())
			check.Equal(t, "turn", s.GetName()+" "+has["cairn.outcome"]+" "+has["gen_ai.conversation.id"]+" "+has["gen_ai.request.model"], "turn answered terminal:general m")
			check.Len(t, "parents of a turn", s.GetParentSpanId(), 0)
		}
	}
	check.Equal(t, "parts", fmt.Sprint(parts), fmt.Sprint(map[string]int{"turn": 1, "chat m": 2, "execute_tool recall": 1}))
	_, has = c.find(t, "chat m", "gen_ai.usage.output_tokens", "7")
	check.That(t, has["gen_ai.usage.input_tokens"] != "", "got request %v", has)

	// A failed turn has the class of its error, and no words.
	failed, has := c.find(t, "turn", "cairn.outcome", "failed")
	check.Equal(t, "type and status", fmt.Sprint(has["error.type"], failed.GetStatus().GetCode(), failed.GetStatus().GetMessage()), fmt.Sprint("auth", tracepb.Status_STATUS_CODE_ERROR))

	// A compaction has the worker's request, and what it freed.
	made, of := c.find(t, "compaction", "cairn.trigger", "manual")
	check.Equal(t, "by", of["cairn.by"], "worker")
	check.That(t, slices.ContainsFunc(c.spans, func(s *tracepb.Span) bool {
		return s.GetName() == "chat m" && slices.Equal(s.GetParentSpanId(), made.GetSpanId())
	}), "got no request in the span")
	span, _ := c.find(t, "apply compaction", "", "")
	check.Len(t, "events", span.GetEvents(), 1)
	event := span.GetEvents()[0]
	has = values(event.GetAttributes())
	check.Equal(t, "event", fmt.Sprint(event.GetName(), has["trigger"], has["id"]), fmt.Sprint("context.compaction", "manual", of["cairn.id"]))
	check.That(t, has["before"] != "" && has["after"] != "", "got event %v", has)
	for _, s := range c.spans {
		check.Lacks(t, "a trace, which contains no text", s.String(), "tea", "Here it is", "hush")
	}
}

func TestInvalidTraceSettings(t *testing.T) {
	for env, want := range map[string]string{ // the error; "": traces are off
		"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4317":                                 "OTEL_EXPORTER_OTLP_ENDPOINT: this is not the address of a collector: write it like http://localhost:4318",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://x OTEL_EXPORTER_OTLP_PROTOCOL=grpc":      `OTEL_EXPORTER_OTLP_PROTOCOL = "grpc": traces are sent only by http/protobuf`,
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://x OTEL_EXPORTER_OTLP_TIMEOUT=10s": `OTEL_EXPORTER_OTLP_TIMEOUT = "10s": write milliseconds`,
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://x OTEL_EXPORTER_OTLP_HEADERS=hush-key":   "OTEL_EXPORTER_OTLP_HEADERS: write NAME=VALUE",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://x OTEL_RESOURCE_ATTRIBUTES=nonsense":     "OTEL_RESOURCE_ATTRIBUTES",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_SDK_DISABLED=true":      "",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_TRACES_EXPORTER=none":   "",
	} {
		t.Run(env, func(t *testing.T) {
			for variable := range strings.FieldsSeq(env) {
				name, value, _ := strings.Cut(variable, "=")
				t.Setenv(name, value)
			}
			b := &bot{secrets: new(redactor), log: slog.New(slog.DiscardHandler)}
			err := check.ErrorOf(b.observers(t.Context()))
			if want == "" {
				check.NoError(t, err)
				check.Equal(t, "traces", b.traces, nil)
				return
			}
			check.Equal(t, "exit code", exitCode(err), exitUsage)
			check.ErrorContains(t, "error", err, want)
			check.Lacks(t, "error", err.Error(), "hush")
		})
	}
}
