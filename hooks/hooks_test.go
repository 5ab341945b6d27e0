package hooks

import (
	"bytes"
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
	"sync"
	"testing"
	"time"

	"cairn/internal/check"
)

// fates are outcomes by hook, and the log.
type fates struct {
	mu  sync.Mutex // guards everything below
	all []string
	log bytes.Buffer
}

func (f *fates) count(hook, outcome string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, hook+" "+outcome)
}

func (f *fates) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Write(p)
}

func (f *fates) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.all, ", ")
}

func TestMain(m *testing.M) {
	maxWaiting, endTime = 16, 200*time.Millisecond
	_ = flag.Set("test.parallel", "16") // these tests wait, and compute little
	os.Exit(m.Run())
}

func started(t *testing.T, s Settings) (*Hooks, *fates) {
	f := &fates{}
	h := New(slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug})), f.count)
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
		"hangs":                {`sleep 60`, Verdict{}, Timeout},
		"leaves a child":       {`sleep 60 & echo '{"focus": "x"}'`, Verdict{Focus: "x"}, OK},
		"floods":               {`yes | head -c 20000000`, Verdict{}, OK},
		"reads nothing":        {`exec <&-; exit 0`, Verdict{}, OK},
		"has a very long word": {fmt.Sprintf(`echo '{"focus": "%s"}'`, strings.Repeat("w", 2000)), Verdict{Focus: strings.Repeat("w", 999) + "…"}, OK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if c.fate == Timeout {
				timeout = 200 * time.Millisecond
			}
			h, f := started(t, Settings{Call: map[string][]string{Before: script(c.script)}, Timeout: timeout})
			began := time.Now()
			check.Equal(t, "decision", h.Ask(t.Context(), Before, one), c.want)
			if took := time.Since(began); f.String() != Before+" "+c.fate || took > time.Minute {
				t.Errorf("got outcome %q after %v", f, took)
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
	text, err := os.ReadFile(out)
	check.NoError(t, err)
	body, env, _ := strings.Cut(string(text), "}")
	var got struct {
		Hook string
		Time time.Time
		event
	}
	if err := json.Unmarshal([]byte(body+"}"), &got); err != nil || got.Hook != After || got.event != one || time.Since(got.Time) > time.Minute {
		t.Errorf("got event %s: %v", body, err)
	}
	check.Lacks(t, "environment", env, "sk-secret")
	check.Contains(t, "environment", env, "PATH=")
}

func TestAnAddressDecides(t *testing.T) {
	var status int
	var said string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("X-Cairn-Signature") != "sha256="+Signature("a secret", body) || r.Header.Get("X-Cairn-Hook") != Before || !bytes.Contains(body, []byte(`"terminal:x"`)) {
			t.Errorf("got event %s with %v", body, r.Header)
		}
		if status == http.StatusFound {
			w.Header().Set("Location", "http://127.0.0.1:1/")
		}
		if status == 0 {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, said)
	}))
	defer server.Close()
	h, f := started(t, Settings{Call: map[string][]string{Before: {server.URL}}, Timeout: 300 * time.Millisecond, Secret: "a secret"})
	for _, c := range []struct {
		status int
		said   string
		want   Verdict
		fate   string
	}{
		{200, `{"focus": "the prices"}`, Verdict{Focus: "the prices"}, OK},
		{204, "", Verdict{}, OK},
		{409, `{"reason": "not at night"}`, Verdict{Veto: true, Reason: "not at night"}, Vetoed},
		{403, "no", Verdict{}, Failed},
		{500, "broken", Verdict{}, Failed},
		{302, "", Verdict{}, Failed},
		{0, "", Verdict{}, Timeout},
	} {
		status, said = c.status, c.said
		if v := h.Ask(t.Context(), Before, one); v != c.want || !strings.HasSuffix(f.String(), " "+c.fate) {
			t.Errorf("%d: got %+v, %s", c.status, v, f)
		}
	}
	text := f.log.String()
	check.Lacks(t, "log", text, "a secret")
	check.Contains(t, "log", text, "outcome=timeout")
}

func TestAHookThatHangsDelaysNobody(t *testing.T) {
	h, f := started(t, Settings{Call: map[string][]string{OnReply: script("sleep 60"), OnMemory: script("true")}, Timeout: 200 * time.Millisecond})
	began := time.Now()
	for range maxWaiting + 10 {
		h.Tell(OnReply, one)
	}
	h.Tell(OnMemory, one)
	if took := time.Since(began); took > time.Second {
		t.Errorf("Tell took %v", took)
	}
	if !check.Soon(func() bool { return strings.Contains(f.String(), OnMemory+" "+OK) }) {
		t.Fatalf("the other hook is not called: %s", f)
	}
	if n := strings.Count(f.String(), OnReply+" "+Dropped); n < 9 {
		t.Errorf("got %d dropped", n)
	}
}

func TestAHookThatFailsIsOneIncident(t *testing.T) {
	works := filepath.Join(t.TempDir(), "works")
	h, f := started(t, Settings{Call: map[string][]string{Before: script("test -e " + works)}})
	for range 3 {
		h.Ask(t.Context(), Before, one)
	}
	check.NoError(t, os.WriteFile(works, nil, 0o600))
	for range 2 {
		h.Ask(t.Context(), Before, one)
	}
	check.Equal(t, "warnings", strings.Count(f.log.String(), "level=WARN"), 1)
	check.Equal(t, "ends", strings.Count(f.log.String(), "level=INFO msg=hook_recovered hook=before_compaction"), 1)
}

// A hook that is too slow for its events stays one incident until it has caught up.
func TestASlowHookIsOneIncident(t *testing.T) {
	h, f := started(t, Settings{Call: map[string][]string{OnReply: script("sleep 0.01")}})
	for n := range maxWaiting + 30 {
		h.Tell(OnReply, one)
		if n > maxWaiting { // the queue is full
			time.Sleep(2 * time.Millisecond)
		}
	}
	if !check.Soon(func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return strings.Contains(f.log.String(), "hook_recovered")
	}) {
		t.Fatal("it does not catch up")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	check.Equal(t, "warnings", strings.Count(f.log.String(), "level=WARN"), 1)
}

func TestHooksEndWithTheBot(t *testing.T) {
	h, f := started(t, Settings{Call: map[string][]string{OnReply: script("sleep 60")}, Timeout: 200 * time.Millisecond})
	for range 5 {
		h.Tell(OnReply, one)
	}
	began := time.Now()
	h.Close()
	if n := strings.Count(f.String(), OnReply+" "+Dropped); n < 3 || strings.Count(f.log.String(), "hook_not_called") != 1 || strings.Contains(f.log.String(), "canceled") {
		t.Errorf("%s\n%s", f, f.log.String())
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("Close took %v", took)
	}
	check.Equal(t, "asked", h.Ask(context.Background(), Before, one), (Verdict{}))
}

func TestWhatAHookStartedEndsWithItsTimeout(t *testing.T) {
	note := filepath.Join(t.TempDir(), "child")
	h, f := started(t, Settings{Call: map[string][]string{Before: script("sleep 600 & echo $! > " + note + "; wait")}, Timeout: 300 * time.Millisecond})
	h.Ask(t.Context(), Before, one)
	text, err := os.ReadFile(note)
	check.Require(t, err == nil && f.String() == Before+" "+Timeout, "%v, %s", err, f)
	if !check.Soon(func() bool { // it has ended, or is a zombie
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}) {
		t.Fatal("its child is still running")
	}
}

// Chat platforms have the key of a webhook in its address.
func TestTheLogDoesNotShowAnAddress(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	h, f := started(t, Settings{Call: map[string][]string{Before: {server.URL + "/services/hush"}}})
	h.Ask(t.Context(), Before, one)
	check.Contains(t, "log", f.log.String(), "hook_failed", "connection refused")
	check.Lacks(t, "log", f.log.String(), "hush")
}
