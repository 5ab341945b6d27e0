package web

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/testkit/check"
)

func TestLog(t *testing.T) {
	r := newRig(t, rigOptions{before: func(r *rig) {
		r.events.Mask = func(_ []string, a slog.Attr) slog.Attr {
			a.Value = slog.StringValue(strings.ReplaceAll(a.Value.String(), "secret", "***"))
			return a
		}
	}})
	watcher := r.events.watch("", "")
	log := slog.New(r.events.Logged(slog.DiscardHandler)).With("conversation", garden)
	log.Debug("too_much")
	log.Info("answered", "turn", 3, "event", compactor.Event{ID: 7, Summary: "We plant tulips.", Set: []compactor.Summary{{Text: "We plant tulips."}}})
	log.Warn("request_failed", "error", errors.New("the secret key of <b>Ada</b>"))
	log.Info("request_recovered")

	names := func(query string) (all string) {
		for _, l := range get[logList](r, "/api/log?"+query).Lines {
			all += l.Name + " "
		}
		return all
	}
	check.HasPrefix(t, "the lines", names("conversation="+garden), "request_recovered request_failed answered ")
	check.Lacks(t, "the lines", names(""), "too_much")
	check.Equal(t, "warnings of a conversation", names("level=warn&conversation="+garden), "request_failed ")
	check.Equal(t, "lines with a text", names("q=TURN%3d3"), "answered ")
	check.Equal(t, "the second of the conversation", names("limit=1&offset=1&conversation="+garden), "request_failed ")
	check.Equal(t, "of another conversation", names("conversation=terminal:other"), "")
	r.do(400, nil, "GET /api/log?level=loud", "")

	page := r.page(200, "/log?level=warn")
	check.Contains(t, "the page", page, "request_failed", "the *** key of &lt;b&gt;Ada", `href="/c/terminal:garden"`, "<option value=\"warn\" selected")
	check.Lacks(t, "the page", page, "answered")
	part := r.page(200, "/log?fragment=live")
	check.Contains(t, "the live part", part, "answered", "event.id=")
	check.Lacks(t, "the live part", part, "tulips")
	check.Contains(t, "the page of the health", r.page(200, "/health"), "request_failed")

	kinds := ""
	for len(watcher) > 0 {
		if one := <-watcher; one.conversation == garden {
			kinds += one.kind + " "
		}
	}
	r.events.unwatch(watcher)
	check.Equal(t, "the events", kinds, "log incident incident ")
	for i := range 2 * keptLines {
		log.Info("line", "n", i)
	}
	check.Equal(t, "lines in memory", get[logList](r, "/api/log").Total, keptLines)
}
