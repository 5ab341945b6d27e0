package hooks

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/testkit/check"
)

// fates are outcomes by hook, and the log.
type fates struct{ all, log check.Buffer }

func (f *fates) count(hook, outcome string) { fmt.Fprintf(&f.all, "%s %s, ", hook, outcome) }

func (f *fates) String() string { return strings.TrimSuffix(f.all.String(), ", ") }

func TestMain(m *testing.M) {
	maxWaiting = 16
	endTime = 200 * time.Millisecond
	_ = flag.Set("test.parallel", "16") // these tests wait, and compute little
	os.Exit(m.Run())
}

func started(t *testing.T, s Settings) (*Hooks, *fates) {
	f := &fates{}
	h := New(slog.New(slog.NewTextHandler(&f.log, &slog.HandlerOptions{Level: slog.LevelDebug})), f.count)
	h.Update(s)
	t.Cleanup(h.Close)
	return h, f
}

type event struct {
	Conversation string `json:"conversation"`
	Messages     int    `json:"messages"`
}

var one = event{"terminal:x", 9}

func script(text string) []string { return []string{"sh", "-c", text} }

func TestAProgramDecides(t *testing.T) {
	child := filepath.Join(t.TempDir(), "child")
	for name, c := range map[string]struct {
		script string
		want   Verdict
		fate   string
	}{
		"goes on":              {"cat >/dev/null", Verdict{}, OK},
		"sets the focus":       {`echo '{"focus": "the prices"}'`, Verdict{Focus: "the prices"}, OK},
		"says anything":        {`echo hello`, Verdict{}, OK},
		"forbids":              {`printf %s '{"reason": "not at\nnight", "focus": "x"}'; exit 10`, Verdict{Veto: true, Reason: "not at night"}, Vetoed},
		"forbids in words":     {`echo "not at night"; echo "nor ever"; exit 10`, Verdict{Veto: true, Reason: "not at night"}, Vetoed},
		"forbids silently":     {`exit 10`, Verdict{Veto: true, Reason: "a hook refused it"}, Vetoed},
		"fails":                {`echo '{"focus": "x"}'; echo broken >&2; exit 1`, Verdict{}, Failed},
		"is killed":            {`kill -9 $$`, Verdict{}, Failed},
		"hangs":                {"sleep 600 & echo $! > " + child + "; wait", Verdict{}, Timeout},
		"leaves a child":       {`sleep 60 & echo '{"focus": "x"}'`, Verdict{Focus: "x"}, OK},
		"floods":               {`yes | head -c 20000000`, Verdict{}, OK},
		"reads nothing":        {`exec <&-; exit 0`, Verdict{}, OK},
		"has a very long word": {fmt.Sprintf(`echo '{"focus": "%s"}'`, strings.Repeat("w", 2000)), Verdict{Focus: strings.Repeat("w", 999) + "…"}, OK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := map[bool]time.Duration{true: 300 * time.Millisecond, false: time.Minute}[c.fate == Timeout]
			h, f := started(t, Settings{Call: map[string][]string{Before: script(c.script)}, Timeout: timeout})
			began := time.Now()
			check.Equal(t, "decision", h.Ask(t.Context(), Before, one), c.want)
			check.Equal(t, "outcome", f.String(), Before+" "+c.fate)
			check.That(t, time.Since(began) <= time.Minute, "it took %v", time.Since(began))
			if c.fate == Timeout {
				pid := strings.TrimSpace(string(check.Must(os.ReadFile(child))(t)))
				check.That(t, check.Soon(func() bool { // it has ended, or is a zombie
					stat, err := os.ReadFile("/proc/" + pid + "/stat")
					return err != nil || strings.Contains(string(stat), ") Z ")
				}), "what it started is still running")
			}
		})
	}
}

func TestAProgramGetsTheEventAndNoSecrets(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	out := filepath.Join(t.TempDir(), "out")
	h, _ := started(t, Settings{Call: map[string][]string{After: script("cat > " + out + "; env >> " + out)}})
	h.Tell(After, one)
	h.Close()
	body, env, _ := strings.Cut(string(check.Must(os.ReadFile(out))(t)), "}")
	var got struct {
		Hook string
		Time time.Time
		event
	}
	check.NoError(t, json.Unmarshal([]byte(body+"}"), &got))
	check.That(t, got.Hook == After && got.event == one && time.Since(got.Time) <= time.Minute, "got event %s", body)
	check.Lacks(t, "environment", env, "sk-secret")
	check.Contains(t, "environment", env, "PATH=")
}

func TestAnAddressDecides(t *testing.T) {
	type answer struct {
		status int
		said   string
	}
	var now atomic.Pointer[answer]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		check.Equal(t, "signature", r.Header.Get("X-Cairn-Signature"), "sha256="+Signature("a secret", body))
		check.Equal(t, "hook", r.Header.Get("X-Cairn-Hook"), Before)
		check.Contains(t, "body", string(body), `"terminal:x"`)
		a := now.Load()
		if a.status == 0 {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Location", "http://127.0.0.1:1/") // of a redirect
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.said)
	}))
	defer server.Close()
	h, f := started(t, Settings{Call: map[string][]string{Before: {server.URL + "/services/hush"}}, Timeout: 300 * time.Millisecond, Secret: "a secret"})
	decides := func(code int, text string, want Verdict, fate string) {
		t.Helper()
		now.Store(&answer{code, text})
		check.Equal(t, fmt.Sprint("decision of ", code), h.Ask(t.Context(), Before, one), want)
		check.That(t, strings.HasSuffix(f.String(), " "+fate), "%d: got %s", code, f)
	}
	decides(200, `{"focus": "the prices"}`, Verdict{Focus: "the prices"}, OK)
	decides(204, "", Verdict{}, OK)
	decides(409, `{"reason": "not at night"}`, Verdict{Veto: true, Reason: "not at night"}, Vetoed)
	decides(403, "no", Verdict{}, Failed)
	decides(500, "broken", Verdict{}, Failed)
	decides(302, "", Verdict{}, Failed)
	decides(0, "", Verdict{}, Timeout)
	decides(200, "", Verdict{}, OK)
	check.Lacks(t, "log", f.log.String(), "a secret", "hush") // chat platforms have the key of a webhook in its address
	check.Contains(t, "log", f.log.String(), "outcome=timeout")
	check.Equal(t, "warnings of the four failures in a row", strings.Count(f.log.String(), "level=WARN"), 1)
	check.Equal(t, "ends", strings.Count(f.log.String(), "level=INFO msg=hook_recovered hook=before_compaction"), 1)
}

func TestAHookThatHangsDelaysNobodyAndEndsWithTheBot(t *testing.T) {
	h, f := started(t, Settings{Call: map[string][]string{OnReply: script("sleep 60"), OnMemory: script("true")}, Timeout: 200 * time.Millisecond})
	began := time.Now()
	for range maxWaiting + 10 {
		h.Tell(OnReply, one)
	}
	h.Tell(OnMemory, one)
	check.That(t, time.Since(began) <= time.Second, "Tell took %v", time.Since(began))
	check.Require(t, check.Soon(func() bool { return strings.Contains(f.String(), OnMemory+" "+OK) }), "the other hook is not called: %s", f)
	check.That(t, strings.Count(f.String(), OnReply+" "+Dropped) >= 9, "got %s", f)

	before := strings.Count(f.log.String(), "hook_not_called")
	began = time.Now()
	h.Close()
	check.That(t, time.Since(began) <= 10*time.Second, "Close took %v", time.Since(began))
	check.That(t, strings.Count(f.String(), OnReply+" "+Dropped) >= maxWaiting, "got %s", f)
	check.Equal(t, "log lines about what still waited", strings.Count(f.log.String(), "hook_not_called")-before, 1)
	check.Lacks(t, "log", f.log.String(), "canceled")
	check.Equal(t, "asked", h.Ask(context.Background(), Before, one), (Verdict{}))
}

// The last event of a shutdown has less time than its timeout, so ending it early is no failure of the hook.
func TestACallThatTheShutdownEndsIsNoFailure(t *testing.T) {
	began := filepath.Join(t.TempDir(), "began")
	h, f := started(t, Settings{Call: map[string][]string{OnReply: script("echo > " + began + "; sleep 60")}, Timeout: time.Minute})
	h.Tell(OnReply, one)
	check.Require(t, check.Soon(func() bool { return check.ErrorOf(os.Stat(began)) == nil }), "it is not called")
	h.cancel() // as Close does when its time is over
	h.Close()
	check.Equal(t, "outcomes", f.String(), OnReply+" "+Stopped)
	check.Contains(t, "log", f.log.String(), `msg=hook_stopped hook=on_reply reason="the bot ended"`)
	check.Lacks(t, "log", f.log.String(), "hook_failed", "level=WARN")

	h, f = started(t, Settings{Call: map[string][]string{Before: script("echo >> " + began + "; sleep 60")}})
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	check.Equal(t, "verdict of a stopped compaction", h.Ask(ctx, Before, one), (Verdict{}))
	check.Equal(t, "outcomes", f.String(), Before+" "+Stopped)
	check.Equal(t, "log", f.log.String(), "")
}

// A hook that is too slow for its events stays one incident until it has caught up: two calls succeed while
// the queue is full, and then one hangs for a while.
func TestASlowHookIsOneIncident(t *testing.T) {
	calls := filepath.Join(t.TempDir(), "calls")
	resume := filepath.Join(t.TempDir(), "resume")
	h, f := started(t, Settings{Call: map[string][]string{OnReply: script(
		"echo >> " + calls + "; [ $(wc -l < " + calls + ") -ne 3 ] || while [ ! -e " + resume + " ]; do sleep 0.01; done")}})
	tell := func() {
		for range maxWaiting + 10 {
			h.Tell(OnReply, one)
		}
	}
	tell()
	check.Require(t, check.Soon(func() bool {
		made, _ := os.ReadFile(calls)
		return len(made) == 3
	}), "it is not called three times")
	tell()
	check.NoError(t, os.WriteFile(resume, nil, 0o600))
	check.Require(t, check.Soon(func() bool { return strings.Contains(f.log.String(), "hook_recovered") }), "it does not catch up")
	check.Equal(t, "warnings", strings.Count(f.log.String(), "level=WARN"), 1)
}
