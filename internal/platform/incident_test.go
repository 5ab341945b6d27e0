package platform

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestIncidentLogsItsBeginningAndItsEndOnce(t *testing.T) {
	var log strings.Builder
	drop := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	i := Incident{
		Log:    slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: drop})),
		Failed: "send_failed", Recovered: "send_recovered", Attrs: []any{"remedy", "wait"},
		Reason: func(err error) string { return err.Error() },
	}
	i.End()
	for range 2 {
		for _, reason := range []string{"busy", "busy", "closed"} {
			i.Begin(errors.New(reason))
		}
		i.End()
		i.End()
	}
	once := "level=WARN msg=send_failed error=busy remedy=wait\nlevel=WARN msg=send_failed error=closed remedy=wait\nlevel=INFO msg=send_recovered\n"
	if log.String() != once+once {
		t.Errorf("the log is\n%s", &log)
	}
}
