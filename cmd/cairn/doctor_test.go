package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
)

func TestDoctor(t *testing.T) {
	newFolder(t).doctorSays(exitFailed, "ok     settings  no file, the defaults\n", "ok     data      data: there is none yet\n", "WRONG  model     agent cairn has no model", "ok     platform  no tokens are set")
	p := newPlatforms(t).folder("", modelAt(llmtest.Serve(t, summarizing(saying("yes"))))...)
	p.must("I like tea\n", "chat")
	p.doctorSays(0, "every page can be read", "model     m, of agent cairn: answered in ", "discord   Message Content Intent is on", "slack     both tokens are valid")
	p = newFolder(t, modelAt(modelServer(t, failing["a wrong key"].do))...).with("workers = 0")
	p.doctorSays(exitFailed, "WRONG  settings  config.toml:1: workers = 0: must be from 1 to 64", "WRONG  model     ")
	p = platformsOf(t, discordtest.Options{Forbidden: discordgo.IntentMessageContent}).folder("")
	p.doctorSays(exitFailed, "WRONG  discord   the bot is not allowed to read messages: switch on Message Content Intent")
}

func TestDoctorFindsDamage(t *testing.T) {
	p := newFolder(t).with(noBackups)
	p.must("I like tea\n", "chat")
	was := p.must("", "transcript", "--json")
	newest := filepath.Join("data", "backups", "cairn-20260102T030405Z.db")
	check.NoError(t, os.Mkdir(filepath.Join(p.dir, "data", "backups"), 0o700))
	p.must("", "backup", newest)
	p.execute("UPDATE conversations SET next_seq = 1")
	p.doctorSays(exitFailed, "terminal:general: the next message would get the number 1, which is taken", "to restore: stop the bot")
	p.damage("message_terms")
	p.doctorSays(exitFailed, "run `cairn restore "+newest+"`, the newest backup")
	p.must("", "restore", newest)
	p.doctorSays(exitFailed, "ok     data      1 backup, the newest is "+newest, "WRONG  model     agent cairn has no model") // and nothing else is wrong
	check.Equal(t, "the transcript", p.must("", "transcript", "--json"), was)
	check.NoError(t, os.Remove(filepath.Join(p.dir, newest)))
	p.damage("messages")
	p.doctorSays(exitFailed, "there is none in data/backups")
}

// damage overwrites the first page of a table or index.
func (p folder) damage(name string) {
	p.t.Helper()
	size := p.count("SELECT page_size FROM pragma_page_size")
	at := p.count("SELECT (rootpage - 1) FROM sqlite_schema WHERE name = '"+name+"'") * size
	file := check.Must(os.OpenFile(filepath.Join(p.dir, "data", "cairn.db"), os.O_WRONLY, 0))(p.t)
	defer file.Close()
	check.Must(file.WriteAt(bytes.Repeat([]byte{0xee}, size), int64(at)))(p.t)
}

func TestDoctorChecksTurnsAndWorkers(t *testing.T) {
	isPicture := func(x *llmtest.Exchange) bool { return len(x.Request.Last().Images) > 0 }
	for name, c := range map[string]struct {
		script   func(x *llmtest.Exchange)
		settings string
		want     []string // each once
		requests int
	}{
		"a model with all features": {script: func(x *llmtest.Exchange) {
			x.Say("yes")
		}, want: []string{
			"ok     model     m, of agent cairn: answered in ", ", supports tools; window of 128000 tokens (default); wire chat, at http://",
			"ok     model     m, of agent cairn: cache not used: none of the ", "a prompt stays cached for 5m\n",
			"ok     model     m, of agent cairn: accepts pictures",
			"ok     worker    m, which summarizes for agent cairn: good enough: ",
		}, requests: 4},
		"a server that takes no tools, no pictures, no order to call": {script: func(x *llmtest.Exchange) {
			switch {
			case len(x.Request.Tools) > 0:
				x.Refuse(400, "", `{"error":{"message":"registry/m does not support tools"}}`)
			case isPicture(x):
				x.Refuse(400, "", `{"error":{"message":"this model does not support image input"}}`)
			default:
				x.Say("yes")
			}
		}, want: []string{", supports no tools; ", "accepts no pictures; it gets descriptions", "in plain text: its server supports no tools"}},
		"a server that fails with pictures": {script: func(x *llmtest.Exchange) {
			if isPicture(x) {
				x.Refuse(400, "", `{"error":{"message":"the picture is too small"}}`)
				return
			}
			x.Say("yes")
		}, want: []string{"refused a test picture", "the picture is too small"}},
		"a model whose tools need the other wire": {script: func(x *llmtest.Exchange) {
			if x.Request.Wire == "chat" && len(x.Request.Tools) > 0 {
				x.Refuse(400, "", `{"error":{"message":"Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Please use /v1/responses instead."}}`)
				return
			}
			x.Say("yes")
		}, want: []string{", supports tools; ", "wire responses"}},
		"what the cache did": {script: counting(2000, 1920), settings: "[llm]\nwire = \"chat\"\n", want: []string{"cache works: 1920 of the 2000 tokens of a second, identical request came from it"}},
	} {
		server := modelServer(t, summarizing(c.script))
		out := newFolder(t, modelAt(server)...).with(c.settings).must("", "doctor")
		for _, want := range c.want {
			check.Equal(t, fmt.Sprintf("%s: %q in %s", name, want, out), strings.Count(out, want), 1)
		}
		check.That(t, c.requests == 0 || len(server.Requests()) == c.requests, "%s: %d requests", name, len(server.Requests()))
	}
	unnamed := newFolder(t, "OPENAI_BASE_URL="+modelServer(t, summarizing(saying("yes"))).URL).must("", "doctor")
	check.Equal(t, "models that are reported", strings.Count(unnamed, "test-model, of agent cairn: answered in"), 1)
	check.Equal(t, "workers that are reported", strings.Count(unnamed, "worker    "), 1)
}

// TestDoctorChecksOtherServers: Anthropic, and a worker on another provider with a wrong key.
func TestDoctorChecksOtherServers(t *testing.T) {
	claude := modelServer(t, saying("yes"))
	other := modelServer(t, failing["a wrong key"].do)
	p := newFolder(t, "ANTHROPIC_BASE_URL="+strings.TrimSuffix(claude.URL, "/v1"), "ANTHROPIC_MODEL=claude-sonnet-4-6", "CAIRN_P_KEY=p-key-p-key")
	p.write("config.toml", "[[providers]]\nid = \"p\"\nbase_url = \""+other.URL+"\"\napi_key = \"env:CAIRN_P_KEY\"\n[defaults.compaction]\nmodel = \"p/small\"\n")
	p.doctorSays(exitFailed, "wire messages", "WRONG  worker    small, which summarizes for agent cairn: model: auth (HTTP 401): no, from "+other.URL, `what to do: check api_key of provider "p"`)
	check.Len(t, "refusals", claude.Refusals(), 0)
}

// A second process cannot see that the running bot waits for a platform: doctor asks the bot.
func TestDoctorAsksTheRunningBot(t *testing.T) {
	answer := state{OK: true}
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		check.Equal(t, "path", r.URL.Path, "/readyz")
		check.NoError(t, json.NewEncoder(w).Encode(answer))
	}))
	defer bot.Close()
	p := newFolder(t).with(fmt.Sprintf("health = %q\n[llm]\nmodel = \"offline\"", bot.Listener.Addr()))
	answer.add("process", false, "")
	check.Contains(t, "a bot that is ready", p.run("", "doctor").out, "ok     bot       it runs and is ready")
	answer.add("discord", true, "not connected, waiting for READY of the gateway")
	p.doctorSays(exitFailed, "WRONG  bot       it runs, and is not ready: discord: not connected, waiting for READY of the gateway")
	bot.Close()
	check.Lacks(t, "without a bot", p.run("", "doctor").out, "bot   ")
}
