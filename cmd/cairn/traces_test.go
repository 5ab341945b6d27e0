package main

import (
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
	"time"

	"cairn/internal/check"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"cairn/internal/otlp"
	"cairn/llm/llmtest"
)

// collector is an OpenTelemetry collector on loopback.
type collector struct {
	*httptest.Server

	mu      sync.Mutex // guards the rest
	refuses bool
	key     string // the header Api-Key of the last request
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
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || c.refuses {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
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

// find returns the first span of a name that has these attributes.
func (c *collector) find(t *testing.T, name string, attrs map[string]string) *tracepb.Span {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var seen []string
	for _, s := range c.spans {
		has := values(s.GetAttributes())
		seen = append(seen, s.GetName())
		same := s.GetName() == name
		for key, value := range attrs {
			same = same && has[key] == value
		}
		if same {
			return s
		}
	}
	t.Fatalf("got no span %q with %v among %q", name, attrs, seen)
	return nil
}

// traced runs a conversation of two turns with a tool, a failed turn and a requested summary. The
// program must exit with code 0.
func traced(t *testing.T, env ...string) (stderr string, took time.Duration) {
	t.Helper()
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		last := x.Request.Messages[len(x.Request.Messages)-1]
		switch {
		case slices.ContainsFunc(x.Request.Tools, func(tool llmtest.Tool) bool { return tool.Function.Name == "summarize" }):
			x.Use("s", "summarize", `{"summary":"Ada likes green tea and asked about it twice; the bot answered her in a friendly way."}`)
		case strings.Contains(last.Text(), "break"):
			x.Refuse(http.StatusUnauthorized, "", `{"error":{"message":"wrong hush-key"}}`)
		case last.Role == "user" && strings.Contains(last.Text(), "search"):
			x.Use("r", "recall", `{"question":"tea"}`)
		default:
			x.Say("Here it is.")
		}
	})
	p := newFolder(t, append(env, "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m", "OPENAI_API_KEY=hush-key")...)
	p.write("config.toml", "[defaults.compaction]\nkeep_last_n = 0\nkeep_first = 0\n")
	l := p.start("chat", "--json", "--log-level", "info")
	for i := range 6 {
		l.say(`{"text":"I like green tea very much, and this is why: ` + strings.Repeat("it is good. ", 20) + `","id":"` + strconv.Itoa(i) + `"}`)
		l.until(`"Here it is."`)
	}
	l.say(`{"text":"search for tea","id":"x"}`)
	l.until(`"Here it is."`)
	l.say(`{"text":"/compact"}`)
	l.until(`"state":"applied"`)
	l.say(`{"text":"break","id":"y"}`)
	l.until(`rejects my API key`)
	started := time.Now()
	l.end()
	return l.errs.String(), time.Since(started)
}

func TestTraces(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	stderr, _ := traced(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=hush%20token", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment=test")
	check.Contains(t, "the log", stderr, "traces_sent")
	if c.key != "hush token" || c.service["service.name"] != "cairn" || c.service["deployment.environment"] != "test" {
		t.Errorf("key %q, resource %v", c.key, c.service)
	}
	t.Run("a turn has its requests and tools as parts", func(t *testing.T) {
		tool := c.find(t, "execute_tool recall", map[string]string{"gen_ai.tool.name": "recall", "gen_ai.operation.name": "execute_tool"})
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
		if want := map[string]int{"turn": 1, "chat m": 2, "execute_tool recall": 1}; !maps.Equal(parts, want) || turn.GetName() != "turn" {
			t.Fatalf("got trace %v, want %v", parts, want)
		}
		has := values(turn.GetAttributes())
		if has["cairn.outcome"] != "answered" || has["gen_ai.conversation.id"] != "terminal:general" || has["gen_ai.request.model"] != "m" || !slices.Equal(tool.GetParentSpanId(), turn.GetSpanId()) {
			t.Errorf("got turn %v", has)
		}
		if request := values(c.find(t, "chat m", nil).GetAttributes()); request["gen_ai.usage.input_tokens"] == "" || request["gen_ai.usage.output_tokens"] != "7" {
			t.Errorf("got request %v", request)
		}
	})
	t.Run("a failed turn has the class of its error, and no words", func(t *testing.T) {
		turn := c.find(t, "turn", map[string]string{"cairn.outcome": "failed", "error.type": "auth"})
		check.Equal(t, "code", turn.GetStatus().GetCode(), tracepb.Status_STATUS_CODE_ERROR)
		check.Equal(t, "message", turn.GetStatus().GetMessage(), "")
	})
	t.Run("a compaction has the worker's request, and what it freed", func(t *testing.T) {
		made := c.find(t, "compaction", map[string]string{"cairn.trigger": "manual", "cairn.by": "worker"})
		if !slices.ContainsFunc(c.spans, func(s *tracepb.Span) bool {
			return s.GetName() == "chat m" && slices.Equal(s.GetParentSpanId(), made.GetSpanId())
		}) {
			t.Error("got no request in the span")
		}
		applied := c.find(t, "apply compaction", nil).GetEvents()
		check.Require(t, len(applied) == 1 && applied[0].GetName() == "context.compaction", "got events %v", applied)
		if has := values(applied[0].GetAttributes()); has["trigger"] != "manual" || has["before"] == "" || has["after"] == "" || has["id"] != values(made.GetAttributes())["cairn.id"] {
			t.Errorf("got event %v", has)
		}
	})
	t.Run("traces contain no text", func(t *testing.T) {
		for _, s := range c.spans {
			check.Lacks(t, "log", s.String(), "tea", "Here it is", "hush")
		}
	})
}

func TestInvalidTraceSettings(t *testing.T) {
	observed := func(t *testing.T, env string) (*otlp.Traces, error) {
		for variable := range strings.FieldsSeq(env) {
			name, value, _ := strings.Cut(variable, "=")
			t.Setenv(name, value)
		}
		_, traces, err := new(app).observer(t.Context(), slog.New(slog.DiscardHandler), nil)
		return traces, err
	}
	for env, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4317":                                 "OTEL_EXPORTER_OTLP_ENDPOINT: this is not the address of a collector: write it like http://localhost:4318",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://x OTEL_EXPORTER_OTLP_PROTOCOL=grpc":      `OTEL_EXPORTER_OTLP_PROTOCOL = "grpc": traces are sent by http/protobuf alone`,
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://x OTEL_EXPORTER_OTLP_TIMEOUT=10s": `OTEL_EXPORTER_OTLP_TIMEOUT = "10s": write milliseconds`,
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://x OTEL_EXPORTER_OTLP_HEADERS=hush-key":   "OTEL_EXPORTER_OTLP_HEADERS: write NAME=VALUE",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://x OTEL_RESOURCE_ATTRIBUTES=nonsense":     "OTEL_RESOURCE_ATTRIBUTES",
	} {
		t.Run(env, func(t *testing.T) {
			_, err := observed(t, env)
			check.Equal(t, "exit code", exitCode(err), exitUsage)
			check.ErrorContains(t, "error", err, want)
			check.Lacks(t, "error", err.Error(), "hush")
		})
	}
	for _, off := range []string{"OTEL_SDK_DISABLED=true", "OTEL_TRACES_EXPORTER=none"} {
		t.Run(off, func(t *testing.T) {
			traces, err := observed(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 "+off)
			check.NoError(t, err)
			check.Equal(t, "traces", traces, nil)
		})
	}
}
