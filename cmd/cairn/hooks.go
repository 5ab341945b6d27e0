// What the bot tells others: the events of hooks, and traces, for the collector that OpenTelemetry's variables name.

package main

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"

	"cairn/channel"
	"cairn/compactor"
	"cairn/config"
	"cairn/hooks"
	"cairn/internal/observe"
	"cairn/internal/otlp"
	"cairn/llm"
)

// spanOf returns the fields that the events of compactions have in common. docs/hooks.md describes all.
func spanOf(conversation string, e channel.Event) map[string]any {
	return map[string]any{
		"conversation": conversation, "trigger": e.Trigger, "kind": e.Kind, "from_seq": e.From, "to_seq": e.To,
		"messages": e.Messages, "max_tokens": e.Window,
	}
}

func (b *bot) propose(ctx context.Context, conversation string, p compactor.Proposal) (focus string, err error) {
	event := spanOf(conversation, p.Event)
	event["tokens"], event["used_tokens"], event["focus"] = p.Tokens, p.BeforeTokens, p.Focus
	v := b.hooks.Ask(ctx, hooks.Before, event)
	if v.Veto {
		return "", errors.New(v.Reason)
	}
	return v.Focus, nil
}

// ended returns the event of a compaction that was applied or has failed.
func ended(conversation string, e channel.Event) map[string]any {
	id, path := e.ID, "/api/conversations/"+url.PathEscape(conversation)+"/summaries"
	if id == 0 && len(e.Set) > 0 {
		id = e.Set[0].ID
	}
	if id > 0 {
		path += "/" + strconv.FormatInt(id, 10)
	}
	event := spanOf(conversation, e)
	event["id"], event["state"], event["by"], event["path"] = id, e.State, e.By, path
	event["before_tokens"], event["after_tokens"] = e.BeforeTokens, e.AfterTokens
	for key, text := range map[string]string{"error": e.Error, "summary": e.Summary} {
		if text != "" {
			event[key] = text
		}
	}
	return event
}

// observers returns the observers of a bot's steps: its metrics, and traces if the environment
// configures them. Otherwise traces are nil.
func (a *app) observers(ctx context.Context, log *slog.Logger, m *metrics) ([]observe.Observer, *otlp.Traces, error) {
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
	if traces == nil {
		return []observe.Observer{m}, nil, nil
	}
	log.Info("traces_sent", "endpoint", config.ShownAddress(traces.Endpoint))
	return []observe.Observer{m, traces}, traces, nil
}
