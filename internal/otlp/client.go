package otlp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

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

// newClient returns a client for the settings in the environment, see Endpoint. It calls sent with
// the outcome of each attempt.
func newClient(sent func(err error)) (*client, error) {
	to, err := endpoint()
	if err != nil {
		return nil, err
	}
	c := &client{to: to.String(), headers: http.Header{}, sent: sent}
	c.http.Timeout = sendTimeout
	if name, value := variable("TIMEOUT"); value != "" {
		millis, err := strconv.Atoi(value)
		if err != nil || millis <= 0 {
			return nil, fmt.Errorf("%s = %q: write milliseconds, e.g. 10000", name, value)
		}
		c.http.Timeout = time.Duration(millis) * time.Millisecond
	}
	name, value := variable("HEADERS")
	for pair := range strings.SplitSeq(value, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || err != nil || strings.TrimSpace(key) == "" {
			return nil, fmt.Errorf("%s: write NAME=VALUE, with commas between several", name) // it may contain a key
		}
		c.headers.Add(strings.TrimSpace(key), value)
	}
	c.headers.Set("Content-Type", "application/x-protobuf")
	return c, nil
}

// variable returns the value of a setting for traces, or else for all signals, and the name of its
// variable.
func variable(setting string) (name, value string) {
	for _, name = range []string{"OTEL_EXPORTER_OTLP_TRACES_" + setting, "OTEL_EXPORTER_OTLP_" + setting} {
		if value = os.Getenv(name); value != "" {
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
		return fmt.Errorf("send traces: the collector answers %s", cmp.Or(resp.Status, strconv.Itoa(resp.StatusCode)))
	}
	return nil
}
