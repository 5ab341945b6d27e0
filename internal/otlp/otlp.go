// Package otlp sends the steps of a bot as traces to an OpenTelemetry collector. Traces contain
// names, numbers and times: nothing that people or models wrote, and no text of an error.
package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"cairn/internal/observe"
)

// Options configure the making and sending of traces. Everything else is in the environment:
// OpenTelemetry's variables for resources, sampling, batches, headers and time limits.
type Options struct {
	Version string                 // of the program
	Class   func(err error) string // classifies an error with one of a few words

	// Sent is called with the outcome of each attempt to send a batch. It must not block.
	Sent func(err error)
}

// Traces is an observer that sends steps as spans. It queues at most 2048
// (OTEL_BSP_MAX_QUEUE_SIZE); if the collector does not answer, further ones are dropped.
type Traces struct {
	Options
	Endpoint string // address of the collector, without a password

	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

var _ observe.Observer = (*Traces)(nil)

// endpoint returns the address for traces in the environment; nil if there is none or traces are
// switched off. The error says what to change.
func endpoint() (*url.URL, error) {
	name, address := variable("ENDPOINT")
	if address == "" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	to, err := url.Parse(address)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" { // the address may contain a password
		return nil, fmt.Errorf("%s: this is not the address of a collector: write it like http://localhost:4318", name)
	}
	if which, protocol := variable("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("%s = %q: traces are sent only by http/protobuf: unset it, and name the collector's port for HTTP, usually 4318", which, protocol)
	}
	if !strings.Contains(name, "TRACES") { // an address for traces is used as it is
		to = to.JoinPath(tracesPath)
	}
	return to, nil
}

// Open returns Traces that send to the collector in the environment; nil if it names none or
// traces are switched off. It does not connect yet. The error says what to change.
func Open(ctx context.Context, o Options) (*Traces, error) {
	address, err := endpoint()
	if address == nil || err != nil {
		return nil, err
	}
	to, err := newClient(address.String(), o.Sent)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "cairn"), attribute.String("service.version", o.Version)),
		resource.WithFromEnv()) // the last one wins
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(o.Sent)) // it would print to standard error
	provider := sdk.NewTracerProvider(sdk.WithBatcher(otlptrace.NewUnstarted(to)), sdk.WithResource(about))
	return &Traces{Options: o, Endpoint: address.Redacted(), provider: provider, tracer: provider.Tracer("cairn")}, nil
}

// Close sends the queue, until ctx ends.
func (t *Traces) Close(ctx context.Context) {
	if err := t.provider.Shutdown(ctx); err != nil {
		t.Sent(fmt.Errorf("send the last traces: %w", err))
	}
}

// Begin starts a span.
func (t *Traces) Begin(ctx context.Context, s *observe.Step) context.Context {
	kind := trace.SpanKindInternal
	if s.Kind == observe.Request {
		kind = trace.SpanKindClient
	}
	ctx, _ = t.tracer.Start(ctx, string(s.Kind), trace.WithTimestamp(s.Began), trace.WithSpanKind(kind))
	return ctx
}

// Event adds an event to the span of a step.
func (t *Traces) Event(s *observe.Step, name string, attrs []slog.Attr) {
	var all []attribute.KeyValue
	for _, a := range attrs {
		all = append(all, keyValue(a.Key, a.Value))
	}
	trace.SpanFromContext(s.Context()).AddEvent(name, trace.WithAttributes(all...))
}

// End ends the span of a step.
func (t *Traces) End(s *observe.Step) {
	span := trace.SpanFromContext(s.Context())
	if span.IsRecording() { // otherwise it was not sampled
		name, operation := describe(s)
		span.SetName(name)
		span.SetAttributes(t.attributes(s, operation)...)
		if s.Err != nil {
			span.SetStatus(codes.Error, "")
		}
	}
	span.End()
}

// describe names a span and its operation by OpenTelemetry's conventions for generative AI, if they have names.
func describe(s *observe.Step) (name, operation string) {
	switch s.Kind {
	case observe.Request:
		return "chat " + s.Attr("model"), "chat"
	case observe.Tool:
		return "execute_tool " + s.Attr("tool"), "execute_tool"
	case observe.Applied:
		return "apply compaction", ""
	}
	return string(s.Kind), ""
}

// genAI maps attributes to their names in OpenTelemetry's conventions for generative AI. The
// conventions are not stable: they are pinned here.
var genAI = map[string]string{
	"model":          "gen_ai.request.model",
	"agent":          "gen_ai.agent.name",
	"tool":           "gen_ai.tool.name",
	"input_tokens":   "gen_ai.usage.input_tokens",
	"output_tokens":  "gen_ai.usage.output_tokens",
	"cached_tokens":  "gen_ai.usage.cache_read.input_tokens",
	"written_tokens": "gen_ai.usage.cache_creation.input_tokens",
}

func (t *Traces) attributes(s *observe.Step, operation string) (all []attribute.KeyValue) {
	if operation != "" {
		all = append(all, attribute.String("gen_ai.operation.name", operation))
	}
	if s.Conversation != "" {
		all = append(all, attribute.String("gen_ai.conversation.id", s.Conversation))
	}
	if s.First > 0 {
		all = append(all, attribute.Float64("cairn.first_token_seconds", s.First.Seconds()))
	}
	if s.Err != nil {
		all = append(all, attribute.String("error.type", t.Class(s.Err)))
	}
	for _, a := range s.Attrs {
		name, known := genAI[a.Key]
		if !known {
			name = "cairn." + a.Key
		}
		all = append(all, keyValue(name, a.Value))
	}
	return all
}

func keyValue(name string, v slog.Value) attribute.KeyValue {
	if v.Kind() == slog.KindInt64 {
		return attribute.Int64(name, v.Int64())
	}
	return attribute.String(name, v.String())
}

// CloseTimeout limits Close when a bot stops.
const CloseTimeout = 2 * time.Second

// client posts spans to a collector by OpenTelemetry's protocol (OTLP 1.11, OTLP/HTTP, binary).
// OpenTelemetry's own client links gRPC, which is as large as the rest of the bot.
type client struct {
	to      string // with the path
	headers http.Header
	http    http.Client
	sent    func(err error)
}

var _ otlptrace.Client = (*client)(nil)

const (
	tracesPath  = "/v1/traces"
	sendTimeout = 10 * time.Second // the specification's default
	maxAnswer   = 64 << 10         // bytes of an answer that are read
)

// newClient returns a client with the settings in the environment. It calls sent with the outcome of
// each attempt.
func newClient(to string, sent func(err error)) (*client, error) {
	c := &client{to: to, headers: http.Header{}, http: http.Client{Timeout: sendTimeout}, sent: sent}
	if name, value := variable("TIMEOUT"); value != "" {
		millis, err := strconv.Atoi(value)
		if err != nil || millis <= 0 {
			return nil, fmt.Errorf("%s = %q: write milliseconds, e.g. 10000", name, value)
		}
		c.http.Timeout = time.Duration(millis) * time.Millisecond
	}
	name, value := variable("HEADERS")
	for pair := range strings.SplitSeq(value, ",") {
		key, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		key = strings.TrimSpace(key)
		if found && key != "" && err == nil {
			c.headers.Add(key, value)
		} else if found || key != "" {
			return nil, fmt.Errorf("%s: write NAME=VALUE, with commas between several", name) // it may contain a key
		}
	}
	c.headers.Set("Content-Type", "application/x-protobuf")
	return c, nil
}

// variable returns the value of a setting for traces, or else for all signals, and the name of its
// variable.
func variable(setting string) (name, value string) {
	for _, name = range []string{"OTEL_EXPORTER_OTLP_TRACES_" + setting, "OTEL_EXPORTER_OTLP_" + setting} {
		value = os.Getenv(name)
		if value != "" {
			break
		}
	}
	return name, value
}

// Start does nothing: there is no connection to open.
func (c *client) Start(context.Context) error { return nil }

// Stop closes idle connections.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces posts spans, once. It reports a failure to sent alone: OpenTelemetry would print it to
// standard error.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	c.sent(c.post(ctx, spans))
	return nil
}

func (c *client) post(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans}) // the same bytes as ExportTraceServiceRequest
	if err != nil {
		return fmt.Errorf("encode traces: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.to, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("send traces: %w", err)
	}
	req.Header = c.headers.Clone()
	resp, err := c.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // its text contains the address
			err = u.Err
		}
		return fmt.Errorf("send traces: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // so that the connection is reused
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("send traces: the collector answers %s", resp.Status)
	}
	return nil
}
