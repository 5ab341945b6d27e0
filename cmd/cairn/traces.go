// Traces: the bot's steps are sent to the collector that OpenTelemetry's environment variables
// name.

package main

import (
	"context"
	"log/slog"
	"os"
	"strings"

	"cairn/channel"
	"cairn/config"
	"cairn/internal/observe"
	"cairn/internal/otlp"
	"cairn/llm"
)

// observer returns the observer of a bot's steps: its metrics, and traces if the environment
// configures them. Otherwise traces are nil.
func (a *app) observer(ctx context.Context, log *slog.Logger, m *metrics) (observe.Observer, *otlp.Traces, error) {
	endpoint, err := otlp.Endpoint()
	if err != nil {
		return nil, nil, usage(err)
	}
	if endpoint == "" {
		return m, nil, nil
	}
	for _, headers := range []string{os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"), os.Getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS")} {
		for header := range strings.SplitSeq(headers, ",") {
			_, value, _ := strings.Cut(header, "=")
			a.secrets.learn(strings.TrimSpace(value))
		}
	}
	var failing llm.Incident
	traces, err := otlp.Open(ctx, otlp.Options{Version: version(), Class: channel.FailureClass, Sent: func(err error) {
		if err != nil {
			log.Log(ctx, failing.Begin(), "send_traces_failed", "error", err, "effect", "traces are lost until the collector answers")
		} else if failing.End() {
			log.Info("send_traces_recovered")
		}
	}})
	if err != nil {
		return nil, nil, usage(err)
	}
	log.Info("traces_sent", "endpoint", config.ShownAddress(endpoint))
	return observe.All{m, traces}, traces, nil
}

// closeTraces sends the queued spans, for at most otlp.CloseTimeout.
func (b *bot) closeTraces() {
	if b.traces == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), otlp.CloseTimeout)
	defer cancel()
	b.traces.Close(ctx)
}
