package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// An owner follows a conversation of Discord, over a restart of the bot, and talks to the bot beside it.
func TestAttachFollowsAConversation(t *testing.T) {
	p, f, r := served(t, saying("Understood."))
	p.sayOnDiscord("the first word")
	p.wait(r, p.onDiscord, "Understood.")
	var name string
	for _, line := range strings.Split(f.must("", "channels"), "\n") {
		if strings.HasPrefix(line, "discord:") {
			name = strings.Fields(line)[0]
		}
	}
	l := f.start("attach", name, "--json")
	check.Contains(t, "what was there", l.until("Understood.")[0], "the first word")
	p.sayOnDiscord("the second word")
	check.Contains(t, "what is said", l.until(`"role":"assistant"`)[0], "the second word")
	p.discord.Say(p.square, p.ann.ID, "to nobody")
	l.until("to nobody")
	check.Equal(t, "the answer in the terminal", f.must("", "ask", "are you there?"), "Understood.\n")

	_ = r.cmd.Process.Kill()
	<-r.ended
	l.logs("waiting for it")
	r = f.start("run")
	p.open(r)
	p.sayOnDiscord("the third word")
	rest := l.until("the third word")
	check.Len(t, fmt.Sprintf("what is printed after the restart: %q", rest), rest, 1)
	l.until("Understood.")
	f.fails(exitNotFound, "channel terminal:nowhere: not found", "attach", "nowhere")
	f.fails(exitUsage, "must be from 0 to 200", "attach", "general", "-n", "201")
	r.stop()
	l.stop()
	f.fails(exitFailed, "no bot runs here", "attach", name)
}

func TestBotsThatCannotBeUsed(t *testing.T) {
	t.Run("what a killed bot left does not matter", func(t *testing.T) {
		p := newFolder(t)
		l := p.start("chat", "--json")
		l.ask(`{"text":"hello","id":"1"}`, `"reply"`)
		_ = l.cmd.Process.Kill()
		<-l.ended
		check.NoError(t, check.ErrorOf(os.Stat(filepath.Join(p.dir, "data", socketName))))
		check.Contains(t, "the answer", p.must("", "ask", "hello"), "Hello")
	})
	t.Run("the bot of another user", func(t *testing.T) {
		p := newFolder(t)
		l := p.start("chat", "--json")
		l.ask(`{"text":"hello","id":"1"}`, `"reply"`)
		code, out := p.asNobody("", "ask", "hello")
		check.Equal(t, "exit code", code, exitFailed)
		check.Contains(t, "the error", out, "data/cairn.sock belongs to a bot of another user: run this as that user")
		l.end()
	})
	t.Run("the bot at the address of [web], with its token and with another one", func(t *testing.T) {
		address := freeAddress(t)
		p := newFolder(t, "CAIRN_WEB_TOKEN=a-long-secret-token").with(fmt.Sprintf("[web]\nlisten = %q\n", address))
		l := p.start("chat", "--json")
		l.ask(`{"text":"hello","id":"1"}`, `"reply"`)
		guest := newFolder(t, p.env...).with(read(t, filepath.Join(p.dir, "config.toml"))) // it has another data folder
		check.Contains(t, "the answer", guest.must("", "ask", "hello"), "Hello")
		check.Contains(t, "another answer", guest.must("", "ask", "one"), "Saved as message #5")
		guest.env = []string{"CAIRN_WEB_TOKEN=another-long-secret"}
		guest.fails(exitUsage, "rejects the token: set CAIRN_WEB_TOKEN", "ask", "hello")
		guest.fails(exitUsage, "rejects the token: set CAIRN_WEB_TOKEN", "attach", "general")
		l.end()
		p.storedOnce("one")
	})
	t.Run("something else, which closes each connection", func(t *testing.T) {
		p := newFolder(t)
		p.dir = check.Must(os.MkdirTemp("", "cairn"))(t) // a socket's path is short
		defer os.RemoveAll(p.dir)
		check.NoError(t, os.Mkdir(filepath.Join(p.dir, "data"), 0o700))
		socket := check.Must(net.Listen("unix", filepath.Join(p.dir, "data", socketName)))(t)
		defer socket.Close()
		go func() {
			for {
				conn, err := socket.Accept()
				if err != nil {
					return
				}
				_ = conn.Close()
			}
		}()
		p.fails(exitFailed, "the bot has ended or does not answer", "ask", "hello")
	})
}

// Two people sit at two terminals. When the first leaves, the second goes on; an approval is answered at either.
func TestTwoPeopleAtTerminals(t *testing.T) {
	p := newFolder(t, modelAt(llmtest.Serve(t, echoing))...)
	p.width = 100
	first := p.atScreen("chat", "--user", "Ada")
	first.until("/help for commands")
	first.types("who is there?\r")
	first.until("I hear: who is there?")
	second := p.atScreen("chat", "--user", "Bo")
	second.until("Cairn · #general")
	second.types("it is me\r")
	second.until("I hear: it is me")
	first.until("I hear: it is me")
	second.types("/context\r")
	second.until("running   nothing")
	first.types("\x04")
	first.end(0)
	second.until("it goes on here")
	second.types("still there?\r")
	second.until("I hear: still there?")
	second.types("\x04")
	second.end(0)
	p.storedOnce("who is there?", "it is me", "still there?")
}

// types types keys.
func (s *screen) types(keys string) {
	s.t.Helper()
	check.Must(s.pty.WriteString(keys))(s.t)
}
