package main

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bwmarrin/discordgo"

	"cairn/internal/check"

	"cairn/discord/discordtest"
	"cairn/llm/llmtest"
	"cairn/slack/slacktest"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	t.Run("before anything was said", func(t *testing.T) {
		t.Parallel()
		out := newFolder(t).must("", "doctor")
		check.Contains(t, "the text", out, "ok     settings  no file, the defaults\n", "ok     data      data: there is none yet\n", "ok     model     offline, of agent cairn: answered in ", "ok     platforms no tokens are set")
	})
	t.Run("a healthy bot on both platforms", func(t *testing.T) {
		t.Parallel()
		p, _ := doctored(t, discordtest.Options{})
		p.must("I like tea\n", "chat")
		out := p.must("", "doctor")
		check.Contains(t, "the text", out, "every page can be read", "model     m, of agent cairn: answered in ", "discord   Message Content Intent is on", "slack     both tokens are good")
	})
	t.Run("everything is misconfigured", func(t *testing.T) {
		t.Parallel()
		p := newFolder(t, "OPENAI_BASE_URL="+modelServer(t, failing["a wrong key"].do).URL, "OPENAI_MODEL=m")
		p.write("config.toml", "workers = 0")
		p.doctorSays(exitFailed, "WRONG  settings  config.toml:1: workers = 0: must be from 1 to 64", "WRONG  model     ")
	})
	t.Run("the intent is off", func(t *testing.T) {
		t.Parallel()
		p, _ := doctored(t, discordtest.Options{Forbidden: discordgo.IntentMessageContent})
		p.doctorSays(exitFailed, "WRONG  discord   the bot may not read messages: switch on Message Content Intent")
	})
}

func TestDoctorFindsDamage(t *testing.T) {
	t.Parallel()
	t.Run("a database with inconsistent rows", func(t *testing.T) {
		t.Parallel()
		p := newFolder(t)
		p.must("I like tea\n", "chat")
		db := check.Must(sql.Open("sqlite3", filepath.Join(p.dir, "data", "cairn.db")))(t)
		defer db.Close()
		check.Must(db.Exec("UPDATE conversations SET next_seq = 1"))(t)
		p.doctorSays(exitFailed, "terminal:general: the next message would get the number 1, which is taken", "to restore: stop the bot")
	})
	t.Run("a database with damaged pages is restored from the newest backup, as it says", func(t *testing.T) {
		t.Parallel()
		p := newFolder(t)
		p.write("config.toml", "[backup]\nevery = \"0s\"\n")
		p.must("I like tea\n", "chat")
		was := p.must("", "transcript", "--json")
		newest := filepath.Join("data", "backups", "cairn-20260102T030405Z.db")
		check.NoError(t, os.Mkdir(filepath.Join(p.dir, "data", "backups"), 0o700))
		p.must("", "backup", newest)
		p.damage("message_terms")
		p.doctorSays(exitFailed, "run `cairn restore "+newest+"`, the newest backup")
		p.must("", "restore", newest)
		check.Contains(t, "output", p.must("", "doctor"), "1 backup, the newest is "+newest)
		check.Equal(t, "the transcript", p.must("", "transcript", "--json"), was)
		check.NoError(t, os.Remove(filepath.Join(p.dir, newest)))
		p.damage("messages")
		p.doctorSays(exitFailed, "there is none in data/backups")
	})
	t.Run("a folder nobody may write into is no place for a bot", func(t *testing.T) {
		t.Parallel()
		p := newFolder(t)
		p.must("I like tea\n", "chat")
		data := filepath.Join(p.dir, "data")
		for path, mode := range map[string]os.FileMode{filepath.Dir(p.dir): 0o755, filepath.Join(data, "cairn.db"): 0o444, data: 0o555} {
			check.NoError(t, os.Chmod(path, mode))
		}
		defer os.Chmod(data, 0o700)
		cmd := p.command("doctor")
		if os.Getuid() == 0 { // root may write everything, so another user must check
			cmd.Path = "/proc/self/exe"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "every page can be read") || !strings.Contains(string(out), "cannot be used: check who may read and write it") || !strings.Contains(string(out), "1 thing is wrong") {
			t.Errorf("%v, %s", err, out)
		}
	})
}

// damage overwrites the first page of a table or index.
func (p folder) damage(name string) {
	p.t.Helper()
	var at, size int64
	path := filepath.Join(p.dir, "data", "cairn.db")
	db := check.Must(sql.Open("sqlite3", path))(p.t)
	err := errors.Join(db.QueryRow("SELECT (rootpage - 1) * page_size, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?", name).Scan(&at, &size), db.Close())
	file, opening := os.OpenFile(path, os.O_WRONLY, 0)
	check.NoError(p.t, errors.Join(err, opening))
	defer file.Close()
	check.Must(file.WriteAt(bytes.Repeat([]byte{0xee}, int(size)), at))(p.t)
}

// doctored returns a folder with tokens for both platforms and a model.
func doctored(t *testing.T, o discordtest.Options) (folder, *llmtest.Server) {
	d := discordtest.New(o)
	t.Cleanup(d.Close)
	d.Guild("town", d.User("Ada"))
	s := slacktest.New(slacktest.Options{})
	t.Cleanup(s.Close)
	model := llmtest.Serve(t, func(x *llmtest.Exchange) {
		x.Piece("yes")
		x.Finish("stop")
		x.Done()
	})
	p := newFolder(t, "DISCORD_TOKEN=token", "SLACK_BOT_TOKEN="+slacktest.BotToken, "SLACK_APP_TOKEN="+slacktest.AppToken,
		"OPENAI_BASE_URL="+model.URL, "OPENAI_MODEL=m")
	p.write("config.toml", "[discord]\napi_base = \""+d.URL+"\"\n[slack]\napi_base = \""+s.APIURL+"\"\n")
	return p, model
}
