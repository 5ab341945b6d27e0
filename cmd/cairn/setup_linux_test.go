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

	"golang.org/x/sys/unix"

	"cairn/discord"
	"cairn/discord/discordtest"
	"cairn/llm/llmtest"
	"cairn/slack"
	"cairn/slack/slacktest"
)

// screen is the program at a pseudo-terminal, and a person who reads and types.
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
	noError(p.t, s.cmd.Start())
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
	noError(p.t, tty.Close())
	return s
}

// shown is all that was shown so far.
func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

// until reads until text was shown, behind what was read before.
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
		if time.Now().After(patience) {
			s.t.Fatalf("%q never came; there is\n%s", text, shown)
		}
	}
}

// answer types a line once a question was asked.
func (s *screen) answer(question, line string) {
	s.t.Helper()
	s.until(question)
	if strings.Contains(question, "hidden") { // what is typed before the echo is off is shown
		time.Sleep(50 * time.Millisecond)
	}
	_, err := s.pty.WriteString(line + "\n")
	noError(s.t, err)
}

// stop sends a signal and returns the exit code and all that was shown.
func (s *screen) stop(signal os.Signal) (code int, text string) {
	s.t.Helper()
	noError(s.t, s.cmd.Process.Signal(signal))
	_ = s.cmd.Wait() // the code tells
	<-s.done
	return s.cmd.ProcessState.ExitCode(), s.text
}

const keyOfModel = "hush-hush-4711"

// strictModel is the address of a server that answers whoever has the key.
func strictModel(t *testing.T) string {
	model := modelServer(t, func(x *llmtest.Exchange) { x.Say("Here I am.") })
	behind := httputil.NewSingleHostReverseProxy(must(url.Parse(strings.TrimSuffix(model.URL, "/v1")))(t))
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

// written wants the secrets in files of their owner alone, nowhere else and never shown.
func (p folder) written(screen string, secrets map[string]string) {
	p.t.Helper()
	for name, secret := range secrets {
		file := filepath.Join(p.dir, "secrets", name)
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 || strings.TrimSpace(read(p.t, file)) != secret {
			p.t.Errorf("%s: %v, %v", name, info, err)
		}
		if strings.Contains(screen, secret) || strings.Contains(read(p.t, filepath.Join(p.dir, "config.toml")), secret) {
			p.t.Errorf("the secret %s is shown, or in the settings:\n%s", name, screen)
		}
	}
	if info, err := os.Stat(filepath.Join(p.dir, "secrets")); len(secrets) > 0 && (err != nil || info.Mode().Perm() != 0o700) {
		p.t.Errorf("the folder: %v, %v", info, err)
	}
	p.must("", "config", "check")
}

func TestSetupForDiscord(t *testing.T) {
	t.Parallel()
	const token = "discord-token-0815"
	d := discordtest.New(discordtest.Options{Token: token})
	t.Cleanup(d.Close)
	model := strictModel(t)
	p := newFolder(t)
	s := p.atScreen("setup", "--api-base", d.URL)
	s.answer("Which model answers?", "nobody")
	s.answer("Write a number from 1 to 4.", "3")
	s.answer("Its address [", model)
	s.answer("(hidden; Enter: none): ", "wrong-key-1234")
	s.answer("✗", "server")
	s.answer("Its address [", model)
	s.answer("(hidden; Enter: none): ", keyOfModel)
	s.answer("Which of them? [", "")
	s.until("✓ test-model answered in ")
	s.answer("Where do people talk to it?", "1")
	s.answer("The token (hidden): ", "no token")
	s.answer("✗ DISCORD_TOKEN is not a bot token", "discord-wrong-1")
	s.until("✗ ")
	s.answer("The token (hidden): ", token)
	s.until("✓ The token is good: the bot is " + d.Bot.Username)
	app := must(discordOf(t, d, token).Application(t.Context()))(t)
	s.until(discord.InviteURL(app.ID))
	s.answer("Press Enter when it is there", "")
	s.until("✗ It is in no server yet.")
	ann := d.User("Ann")
	square := d.Channel(d.Guild("Town", ann).ID, "square").ID
	s.answer("Press Enter when it is there", "")
	s.until("✓ It is in 1 server.")
	s.until("Written: config.toml, secrets/model-key, secrets/discord-token")
	s.until("@" + d.Bot.Username + " hello")
	for len(d.Connections()) == 0 || !d.Connections()[0].Identify {
		time.Sleep(10 * time.Millisecond)
	}
	d.Say(square, ann.ID, "<@"+d.Bot.ID+"> hello")
	for start := time.Now(); len(d.Sent(square)) == 0 || d.Sent(square)[0].Content != "Here I am."; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > 30*time.Second {
			t.Fatalf("no answer: %+v\n%s", d.Sent(square), s.shown())
		}
	}
	code, text := s.stop(syscall.SIGINT)
	expect(t, "the exit code", code, 130)
	p.written(text, map[string]string{"model-key": keyOfModel, "discord-token": token})
	contains(t, "docs/discord.md", read(t, "../../docs/discord.md"), discord.InviteURL("APPLICATION_ID")+"\n")
}

// discordOf is the connector with a token.
func discordOf(t *testing.T, d *discordtest.Server, token string) *discord.Discord {
	return must(discord.New(discord.Options{Token: token, APIBase: d.URL}))(t)
}

func TestSetupForDiscordWithoutTheIntent(t *testing.T) {
	t.Parallel()
	d := discordtest.New(discordtest.Options{Forbidden: discordtest.IntentMessageContent})
	t.Cleanup(d.Close)
	d.Guild("Town", d.User("Ann"))
	p := newFolder(t, "DISCORD_TOKEN=token")
	args := []string{"setup", "--model", "none", "--platform", "discord", "--api-base", d.URL, "--no-run"}
	if r := p.run("", args...); r.code != exitFailed || !strings.Contains(r.err, "Message Content Intent") || !strings.Contains(r.err, "--without-message-content") {
		t.Errorf("exit code %d, %s", r.code, r.err)
	}
	s := p.atScreen(args...)
	s.answer("Press Enter when it is on", "")
	s.answer("Press Enter when it is on", "without")
	s.until("Start the bot with `cairn run`")
	_ = s.cmd.Wait()
	contains(t, "the settings", read(t, filepath.Join(p.dir, "config.toml")), "message_content = false")
}

func TestSetupForSlack(t *testing.T) {
	t.Parallel()
	w := slacktest.New(slacktest.Options{})
	t.Cleanup(w.Close)
	ben := w.AddUser("Ben")
	lab := w.AddChannel("lab", ben)
	p := newFolder(t)
	p.write("config.toml", "# mine\n")
	s := p.atScreen("setup", "--api-base", w.APIURL, "--model", "none", "--platform", "slack")
	s.answer("config.toml exists. Replace it?", "y")
	s.until(slack.CreateURL())
	s.answer("The token xoxb-… (hidden): ", slacktest.AppToken)
	s.until("✗ ")
	s.answer("The token xoxb-… (hidden): ", slacktest.BotToken)
	s.until("✓ The token is good: the app is ")
	s.answer("The token xapp-… (hidden): ", "xapp-wrong-17")
	s.until("✗ ")
	s.answer("The token xapp-… (hidden): ", slacktest.AppToken)
	s.until("✓ The app-level token is good.")
	s.until("Kept: config.toml.2")
	s.until("/invite @")
	for start := time.Now(); len(w.Sockets()) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > 30*time.Second {
			t.Fatal("it never connects")
		}
	}
	w.Say(slacktest.Post{Channel: lab, User: ben, Text: "<@" + slacktest.BotUserID + "> hello"})
	for start := time.Now(); len(w.Posted()) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > 30*time.Second {
			t.Fatalf("no answer\n%s", s.shown())
		}
	}
	code, text := s.stop(syscall.SIGTERM)
	expect(t, "the exit code", code, 143)
	p.written(text, map[string]string{"slack-bot-token": slacktest.BotToken, "slack-app-token": slacktest.AppToken})
	kept := must(filepath.Glob(filepath.Join(p.dir, "config.toml.2*")))(t)
	if len(kept) != 1 || read(t, kept[0]) != "# mine\n" {
		t.Errorf("the former settings are in %q", kept)
	}
}

func TestASetupThatIsLeftChangesNothing(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(s *screen) (code int){
		"by a signal, while a secret is typed": func(s *screen) int {
			s.answer("Which model answers?", "openai")
			s.until("(hidden): ")
			for echo := true; echo; time.Sleep(time.Millisecond) { // the prompt stands there a moment before
				state, err := unix.IoctlGetTermios(int(s.pty.Fd()), unix.TCGETS)
				noError(s.t, err)
				echo = state.Lflag&unix.ECHO != 0
			}
			_, err := s.pty.WriteString("sk-half-a-key")
			noError(s.t, err)
			code, _ := s.stop(syscall.SIGINT)
			return code - 130
		},
		"by the end of the input": func(s *screen) int {
			s.answer("Which model answers?", "none")
			s.until("Where do people talk to it?")
			s.until("> ")
			_, err := s.pty.WriteString("\x04")
			noError(s.t, err)
			s.until("left: nothing was written")
			_ = s.cmd.Wait()
			return s.cmd.ProcessState.ExitCode() - exitFailed
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFolder(t)
			s := p.atScreen("setup")
			if code := leave(s); code != 0 {
				t.Errorf("the exit code is off by %d\n%s", code, s.shown())
			}
			if left := must(os.ReadDir(p.dir))(t); len(left) > 0 || strings.Contains(s.shown(), "half-a-key") {
				t.Errorf("left is %v, shown is %s", left, s.shown())
			}
		})
	}
	t.Run("by a no", func(t *testing.T) {
		p := newFolder(t)
		p.write("config.toml", "# mine\n")
		s := p.atScreen("setup")
		s.answer("Replace it?", "")
		s.until("left: nothing was written")
		_ = s.cmd.Wait()
		expect(t, "the settings", read(t, filepath.Join(p.dir, "config.toml")), "# mine\n")
	})
}
