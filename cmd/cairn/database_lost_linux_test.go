package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// slowSummaries starts a bot whose model is writing a summary, and does not finish it.
func slowSummaries(t *testing.T) (p folder, l *live) {
	asked := make(chan struct{}, 99)
	p = newFolder(t)
	writeServerSettings(p, llmtest.Serve(t, func(x *llmtest.Exchange) {
		if isWorker(x) {
			asked <- struct{}{}
			x.Wait(time.Minute) // until the client is gone
			return
		}
		x.Say("Understood. " + strings.Repeat("The garden has roses. ", 30))
	}))
	l = p.start("chat", "--json")
	for range 12 {
		l.ask(`{"text":"`+strings.Repeat("we talk about the garden ", 30)+`"}`, `"reply"`)
	}
	l.say(`{"text":"/compact"}`)
	<-asked
	return p, l
}

// The summary can never be stored: nothing is worth waiting for.
func TestEndOfInputWithoutDatabase(t *testing.T) {
	p, l := slowSummaries(t)
	began := time.Now()
	check.NoError(t, os.Remove(filepath.Join(p.dir, "data", "cairn.db")))
	check.NoError(t, l.in.Close())
	l.exits(exitDamaged)
	check.That(t, time.Since(began) < 20*time.Second, "it took %v", time.Since(began))
	check.Contains(t, "standard error", l.errs.String(), "was deleted, moved or replaced")
}

func TestStopDoesNotWaitForSummary(t *testing.T) {
	_, l := slowSummaries(t)
	began := time.Now()
	l.signal(syscall.SIGTERM)
	l.exits(exitSignal + int(syscall.SIGTERM))
	check.That(t, time.Since(began) < 10*time.Second, "it took %v", time.Since(began))
}

// A model or a hook that does not answer keeps ask and import waiting: only the watch notices what others do to the file.
func TestAskAndImportWatchTheDatabase(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		spoil func(file string) error
	}{
		"ask, overwritten":    {[]string{"ask", "hello"}, overwrite},
		"import, overwritten": {[]string{"import", "past.jsonl"}, overwrite},
		"ask, deleted":        {[]string{"ask", "hello"}, os.Remove},
		"import, deleted":     {[]string{"import", "past.jsonl"}, os.Remove},
	} {
		t.Run(name, func(t *testing.T) {
			p := newFolder(t)
			spoil := sync.OnceValue(func() error { return c.spoil(filepath.Join(p.dir, "data", "cairn.db")) })
			hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				check.NoError(t, check.ErrorOf(io.Copy(io.Discard, r.Body)))
				check.NoError(t, spoil())
				<-r.Context().Done()
			}))
			defer hook.Close()
			model := llmtest.Serve(t, func(x *llmtest.Exchange) {
				check.NoError(t, spoil())
				x.Wait(time.Minute) // until the client is gone
			})
			writeServerSettings(p, model, "[hooks]", fmt.Sprintf("before_compaction = %q", hook.URL), `timeout = "1m"`)
			p.write("past.jsonl", recorded(200))
			p.databaseEvery = 10 * time.Millisecond
			r := p.runHere("", c.args)
			check.Equal(t, "exit code", r.code, exitDamaged)
			// A write may meet it before the watch does, and SQLite may give up the log of a file that is none.
			told := strings.Contains(r.err, "is damaged") || strings.Contains(r.err, "was deleted, moved or replaced")
			check.That(t, told, "got %q", r.err)
			check.Lacks(t, "standard error", r.err, "the same command", "panicked")
		})
	}
}

// overwrite writes over the start of a file: it stays the same file.
func overwrite(path string) error {
	return os.WriteFile(path, []byte(strings.Repeat("hello ", 20_000)), 0o600)
}

// The context of a run ends within a minute with why.
func TestWatchDatabase(t *testing.T) {
	p := newFolder(t)
	p.must("I like tea\n", "chat")
	path := filepath.Join(p.dir, "data", "cairn.db")
	synctest.Test(t, func(t *testing.T) {
		data := check.Must(store.Open(t.Context(), store.Options{Dir: filepath.Dir(path)}))(t)
		defer data.Close()
		var log check.Buffer
		b := &bot{log: slog.New(slog.NewTextHandler(&log, nil)), store: data}
		b.ctx, b.cancel = context.WithCancel(t.Context())
		defer b.tasks.Wait()
		defer b.cancel()
		ctx := b.watchDatabase(t.Context())
		time.Sleep(10 * databaseEvery)
		check.NoError(t, context.Cause(ctx))
		check.NoError(t, overwrite(path))
		time.Sleep(databaseEvery + time.Second)
		check.Error(t, context.Cause(ctx), store.ErrDamaged)
		check.Equal(t, "exit code", exitCode(context.Cause(ctx)), exitDamaged)
		check.Equal(t, "log lines", strings.Count(log.String(), "database_lost"), 1)
	})
}

// A page that cannot be read shows at /readyz immediately, not only after the check of every minute.
func TestReadyzAfterDamage(t *testing.T) {
	s := startBot(t, noBackups)
	h := s.newHealth(t.Context(), nil)
	ready := func(code int, words string) {
		t.Helper()
		h.found.Clear() // of the second before
		w := httptest.NewRecorder()
		h.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
		check.Equal(t, "status", w.Code, code)
		check.Contains(t, "what /readyz says", w.Body.String(), words)
	}
	ready(200, `{"part":"database","ok":true}`)
	check.NoError(t, check.ErrorOf(database(t, s.started.DataDir).Exec("PRAGMA wal_checkpoint(TRUNCATE)")))
	file := check.Must(os.OpenFile(store.File(s.started.DataDir), os.O_WRONLY, 0))(t)
	check.NoError(t, errors.Join(check.ErrorOf(file.WriteAt(bytes.Repeat([]byte("hello "), 100_000), 8192)), file.Close()))
	check.NoError(t, s.store.Upkeep().Writable(t.Context()))
	_, err := s.store.Upkeep().Check(t.Context())
	check.Error(t, err, store.ErrDamaged)
	ready(503, `{"part":"database","ok":false,"why":"is damaged; the log says why"}`)
	ready(503, `{"part":"database","ok":false,"why":"is damaged; the log says why"}`)
	check.Equal(t, "log lines", strings.Count(s.log.String(), "database_check_failed"), 1)
}
