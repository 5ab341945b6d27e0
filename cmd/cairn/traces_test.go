package main

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
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

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// collector is an OpenTelemetry collector on loopback.
type collector struct {
	*httptest.Server

	mu      sync.Mutex // guards the rest
	key     string     // the header Api-Key of the last request
	service map[string]string
	spans   []*tracepb.Span
}

func newCollector(t *testing.T) *collector {
	c := &collector{service: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var batch tracepb.TracesData
		if err == nil {
			err = proto.Unmarshal(body, &batch)
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.key = r.Header.Get("Api-Key")
		for _, from := range batch.GetResourceSpans() {
			maps.Copy(c.service, values(from.GetResource().GetAttributes()))
			for _, scope := range from.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// values returns attributes as text.
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

// find returns the first span of a name that has these attributes, with all its attributes.
func (c *collector) find(t *testing.T, name string, attrs map[string]string) (*tracepb.Span, map[string]string) {
	t.Helper()
	var seen []string
	for _, s := range c.spans {
		has := values(s.GetAttributes())
		seen = append(seen, s.GetName())
		same := s.GetName() == name
		for key, value := range attrs {
			same = same && has[key] == value
		}
		if same {
			return s, has
		}
	}
	t.Fatalf("got no span %q with %v among %q", name, attrs, seen)
	return nil, nil
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
	p := newFolder(t, append(env, modelAt(server)...)...)
	p.write("config.toml", "[defaults.compaction]\nkeep_last_n = 0\nkeep_first = 0\n")
	l := p.start("chat", "--json", "--log-level", "info")
	tea := strings.Repeat("I like green tea very much, for it is good. ", 6)
	for _, c := range [][2]string{
		{tea, "Here it is."},
		{tea, "Here it is."},
		{tea, "Here it is."},
		{tea, "Here it is."},
		{tea, "Here it is."},
		{tea, "Here it is."},
		{"search for tea", "Here it is."},
		{"/compact", `"state":"applied"`},
		{"break", "rejects my API key"},
	} {
		l.say(fmt.Sprintf(`{"text":%q}`, c[0]))
		l.until(c[1])
	}
	l.end()
	return l.errs.String()
}

func TestTraces(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	stderr := traced(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=hush%20token", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment=test")
	check.Contains(t, "the log", stderr, "traces_sent")
	c.mu.Lock()
	defer c.mu.Unlock()
	check.Equal(t, "key and resource", c.key+" "+c.service["service.name"]+" "+c.service["deployment.environment"], "hush token cairn test")
	t.Run("a turn has its requests and tools as parts", func(t *testing.T) {
		tool, _ := c.find(t, "execute_tool recall", map[string]string{"gen_ai.tool.name": "recall", "gen_ai.operation.name": "execute_tool"})
		var turn *tracepb.Span
		parts := map[string]int{}
		for _, s := range c.spans {
			if slices.Equal(s.GetTraceId(), tool.GetTraceId()) {
				parts[s.GetName()]++
				if len(s.GetParentSpanId()) == 0 {
					turn = s
				}
			}
		}
		check.Equal(t, "parts", fmt.Sprint(parts), fmt.Sprint(map[string]int{"turn": 1, "chat m": 2, "execute_tool recall": 1}))
		has := values(turn.GetAttributes())
		check.Equal(t, "turn", turn.GetName()+" "+has["cairn.outcome"]+" "+has["gen_ai.conversation.id"]+" "+has["gen_ai.request.model"], "turn answered terminal:general m")
		check.EqualAll(t, "parent of the tool", tool.GetParentSpanId(), turn.GetSpanId())
		_, request := c.find(t, "chat m", nil)
		check.That(t, request["gen_ai.usage.input_tokens"] != "" && request["gen_ai.usage.output_tokens"] == "7", "got request %v", request)
	})
	t.Run("a failed turn has the class of its error, and no words", func(t *testing.T) {
		turn, _ := c.find(t, "turn", map[string]string{"cairn.outcome": "failed", "error.type": "auth"})
		check.Equal(t, "code", turn.GetStatus().GetCode(), tracepb.Status_STATUS_CODE_ERROR)
		check.Equal(t, "message", turn.GetStatus().GetMessage(), "")
	})
	t.Run("a compaction has the worker's request, and what it freed", func(t *testing.T) {
		made, of := c.find(t, "compaction", map[string]string{"cairn.trigger": "manual", "cairn.by": "worker"})
		check.That(t, slices.ContainsFunc(c.spans, func(s *tracepb.Span) bool {
			return s.GetName() == "chat m" && slices.Equal(s.GetParentSpanId(), made.GetSpanId())
		}), "got no request in the span")
		span, _ := c.find(t, "apply compaction", nil)
		applied := span.GetEvents()
		check.Require(t, len(applied) == 1 && applied[0].GetName() == "context.compaction", "got events %v", applied)
		has := values(applied[0].GetAttributes())
		check.That(t, has["trigger"] == "manual" && has["before"] != "" && has["after"] != "" && has["id"] == of["cairn.id"], "got event %v", has)
	})
	for _, s := range c.spans {
		check.Lacks(t, "a trace, which contains no text", s.String(), "tea", "Here it is", "hush")
	}
}

func TestInvalidTraceSettings(t *testing.T) {
	for env, want := range map[string]string{ // the error; "": traces are off
		"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4317":                                 "OTEL_EXPORTER_OTLP_ENDPOINT: this is not the address of a collector: write it like http://localhost:4318",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://x OTEL_EXPORTER_OTLP_PROTOCOL=grpc":      `OTEL_EXPORTER_OTLP_PROTOCOL = "grpc": traces are sent by http/protobuf alone`,
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
			_, traces, err := new(app).observer(t.Context(), slog.New(slog.DiscardHandler), nil)
			if want == "" {
				check.NoError(t, err)
				check.Equal(t, "traces", traces, nil)
				return
			}
			check.Equal(t, "exit code", exitCode(err), exitUsage)
			check.ErrorContains(t, "error", err, want)
			check.Lacks(t, "error", err.Error(), "hush")
		})
	}
}
