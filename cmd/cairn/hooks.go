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

type spanEvent struct {
	Conversation string            `json:"conversation"`
	Trigger      compactor.Trigger `json:"trigger"`
	Kind         compactor.Kind    `json:"kind"`
	From         int64             `json:"from_seq"`
	To           int64             `json:"to_seq"`
	Messages     int               `json:"messages"`
	Window       int               `json:"max_tokens"`
}

func spanOf(conversation string, e channel.Event) spanEvent {
	return spanEvent{conversation, e.Trigger, e.Kind, e.From, e.To, e.Messages, e.Window}
}

type proposedEvent struct {
	spanEvent
	Tokens int    `json:"tokens"` // estimate for the span to summarize; 0: not known yet
	Used   int    `json:"used_tokens"`
	Focus  string `json:"focus"`
}

type endedEvent struct {
	spanEvent
	ID      int64                `json:"id"`
	State   compactor.EventState `json:"state"` // applied or failed
	By      compactor.By         `json:"by"`
	Before  int                  `json:"before_tokens"`
	After   int                  `json:"after_tokens"`
	Error   string               `json:"error,omitempty"`
	Summary string               `json:"summary,omitempty"`
	Path    string               `json:"path"` // path of the summary in the HTTP API, with its messages
}

type memoryEvent struct {
	Conversation string `json:"conversation"`
	ID           int64  `json:"id"`
	Kind         string `json:"kind"`
	Content      string `json:"content"`
}

type replyEvent struct {
	Conversation string   `json:"conversation"`
	To           []string `json:"to"` // platform ids of the messages that are answered
	Text         string   `json:"text"`
	Failure      bool     `json:"failure"` // the text reports a failure and is not the model's
}

func (b *bot) propose(ctx context.Context, conversation string, p compactor.Proposal) (focus string, err error) {
	v := b.hooks.Ask(ctx, hooks.Before, proposedEvent{spanOf(conversation, p.Event), p.Tokens, p.BeforeTokens, p.Focus})
	if v.Veto {
		return "", errors.New(v.Reason)
	}
	return v.Focus, nil
}

func ended(conversation string, e channel.Event) endedEvent {
	id, path := e.ID, "/api/conversations/"+url.PathEscape(conversation)+"/summaries"
	if id == 0 && len(e.Set) > 0 {
		id = e.Set[0].ID
	}
	if id > 0 {
		path += "/" + strconv.FormatInt(id, 10)
	}
	return endedEvent{spanOf(conversation, e), id, e.State, e.By, e.BeforeTokens, e.AfterTokens, e.Error, e.Summary, path}
}

// observer returns the observer of a bot's steps: its metrics, and traces if the environment
// configures them. Otherwise traces are nil.
func (a *app) observer(ctx context.Context, log *slog.Logger, m *metrics) (observe.Observer, *otlp.Traces, error) {
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
		return m, nil, nil
	}
	log.Info("traces_sent", "endpoint", config.ShownAddress(traces.Endpoint))
	return observe.All{m, traces}, traces, nil
}
