package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cairn/internal/check"

	"golang.org/x/sys/unix"

	"cairn/llm/llmtest"
)

// screen is the program at a pseudo-terminal, with a person who reads and types.
type screen struct {
	t    *testing.T
	pty  *os.File
	cmd  *exec.Cmd
	done chan struct{}

	mu   sync.Mutex // guards text
	text string
	read int // up to where the person has read
}

func (p folder) atScreen(args ...string) *screen {
	p.t.Helper()
	pty, tty := pseudoTerminal(p.t)
	s := &screen{t: p.t, pty: pty, cmd: p.command(args...), done: make(chan struct{})}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = tty, tty, tty
	check.NoError(p.t, s.cmd.Start())
	go func() {
		defer close(s.done)
		part := make([]byte, 4096)
		for {
			n, err := pty.Read(part)
			s.mu.Lock()
			s.text += string(part[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	p.t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	check.NoError(p.t, tty.Close())
	return s
}

// shown returns everything shown so far.
func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

// until reads until text is shown, after what was read before.
func (s *screen) until(text string) {
	s.t.Helper()
	for patience := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		at := strings.Index(s.text[s.read:], text)
		if at >= 0 {
			s.read += at + len(text)
		}
		shown := s.text
		s.mu.Unlock()
		if at >= 0 {
			return
		}
		check.Require(s.t, !time.Now().After(patience), "timed out waiting for %q; got\n%s", text, shown)
	}
}

// answer types a line once a question was asked.
func (s *screen) answer(question, line string) {
	s.t.Helper()
	s.until(question)
	if strings.Contains(question, "hidden") { // what is typed before the echo is off is shown
		time.Sleep(50 * time.Millisecond)
	}
	check.Must(s.pty.WriteString(line + "\n"))(s.t)
}

// stop sends a signal, and returns the exit code and everything shown.
func (s *screen) stop(signal os.Signal) (code int, text string) {
	s.t.Helper()
	check.NoError(s.t, s.cmd.Process.Signal(signal))
	_ = s.cmd.Wait() // the exit code shows it
	<-s.done
	return s.cmd.ProcessState.ExitCode(), s.text
}

const keyOfModel = "hush-hush-4711"

// strictModel returns the address of a server that answers any request with the key.
func strictModel(t *testing.T) string {
	model := modelServer(t, func(x *llmtest.Exchange) { x.Say("Here I am.") })
	behind := httputil.NewSingleHostReverseProxy(check.Must(url.Parse(strings.TrimSuffix(model.URL, "/v1")))(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+keyOfModel {
			http.Error(w, `{"error":{"message":"no","code":"invalid_api_key"}}`, http.StatusUnauthorized)
			return
		}
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// written checks that the secrets are in files only their owner can read, nowhere else, and never
// shown.
func (p folder) written(screen string, secrets map[string]string) {
	p.t.Helper()
	for name, secret := range secrets {
		file := filepath.Join(p.dir, "secrets", name)
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 || strings.TrimSpace(read(p.t, file)) != secret {
			p.t.Errorf("%s: %v, %v", name, info, err)
		}
		check.Lacks(p.t, "the screen", screen, secret)
		check.Lacks(p.t, "config.toml", read(p.t, filepath.Join(p.dir, "config.toml")), secret)
	}
	if info, err := os.Stat(filepath.Join(p.dir, "secrets")); len(secrets) > 0 && (err != nil || info.Mode().Perm() != 0o700) {
		p.t.Errorf("folder: got %v, %v", info, err)
	}
	p.must("", "config", "check")
}

func TestAbortedSetupChangesNothing(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(s *screen) (code int){
		"by a signal, while a secret is typed": func(s *screen) int {
			s.answer("Which model should answer?", "openai")
			s.until("(hidden): ")
			for echo := true; echo; time.Sleep(time.Millisecond) { // the prompt appears a moment earlier
				state := check.Must(unix.IoctlGetTermios(int(s.pty.Fd()), unix.TCGETS))(s.t)
				echo = state.Lflag&unix.ECHO != 0
			}
			check.Must(s.pty.WriteString("sk-half-a-key"))(s.t)
			time.Sleep(100 * time.Millisecond) // the kernel decides a moment later whether it is shown
			code, _ := s.stop(syscall.SIGINT)
			return code - 130
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFolder(t)
			s := p.atScreen("setup")
			if code := leave(s); code != 0 {
				t.Errorf("got exit code off by %d\n%s", code, s.shown())
			}
			check.Len(t, "files", check.Must(os.ReadDir(p.dir))(t), 0)
			check.Lacks(t, "the screen", s.shown(), "half-a-key")
		})
	}
}
