package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

// telling returns the address of a program's health checks.
func (p *platforms) telling(r *live) (address string) {
	p.t.Helper()
	r.logs(`"health":"`)
	return first(p.t, `"health":"([^"]+)"`, r.errs.String())
}

func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	resp := check.Must(http.Get(url))(t)
	defer resp.Body.Close()
	return resp.StatusCode, string(check.Must(io.ReadAll(resp.Body))(t))
}

// showsEnded checks that a program is not ready, because a connector has ended, and says what a person has to do.
func (p *platforms) showsEnded(r *live, connector, why string) {
	p.t.Helper()
	code, said := get(p.t, "http://"+p.telling(r)+"/readyz")
	check.Equal(p.t, "status of /readyz", code, 503)
	check.Contains(p.t, "what /readyz says", said, `{"part":"`+connector+`","ok":false,"why":"connector ended: `+why, "; then restart the bot")
}

func TestHealth(t *testing.T) {
	var broken atomic.Bool
	p, f, r := served(t, func(x *llmtest.Exchange) {
		if broken.Load() {
			x.Refuse(http.StatusUnauthorized, "", `{"error":{"message":"no hush-hush here"}}`)
			return
		}
		x.Say("Here I am.")
	}, "--health", "127.0.0.1:0", "--web", "localhost:0")
	address := p.telling(r)
	pages := first(t, `"address":"([^"]+)"`, r.errs.String())
	ready := func(want int, words string) {
		t.Helper()
		code := 0
		said := ""
		p.until(r, words, func() bool {
			code, said = get(t, "http://"+address+"/readyz")
			return code == want && strings.Contains(said, words)
		})
		check.Lacks(t, "health answer", said, "hush", slacktest.BotToken, slacktest.AppToken, "Where are you", "Here I am")
	}
	ready(200, `{"part":"discord","ok":true},{"part":"slack","ok":true},{"part":"database","ok":true}`)
	p.sayOnDiscord("Where are you?")
	p.wait(r, p.onDiscord, "Here I am.")
	_, connectors := get(t, "http://"+pages+"/api/connectors")
	check.Contains(t, "the connectors", connectors, `{"name":"discord","ok":true,"heard":"`, `{"name":"slack","ok":true}`)
	for name, fact := range map[string]string{"discord": "servers with the bot: ", "slack": "both tokens are valid"} {
		_, said := get(t, "http://"+pages+"/connectors/"+name+"/check")
		check.Contains(t, "what "+name+" says of the bot", said, fact)
	}
	for _, args := range [][]string{{"health"}, {"health", "--ready"}} {
		check.HasPrefix(t, fmt.Sprint(args), f.must("", append(args, "--health", address)...), `{"ok":true,`)
	}
	repair := breakDisk(r)
	ready(503, `"database","ok":false,"why":"cannot be written; the log says why"`)
	code, said := get(t, "http://"+address+"/healthz")
	check.Equal(t, "alive beside a disk that takes nothing: "+said, code, 200)
	repair()
	ready(200, `{"part":"database","ok":true}`)
	r.logs("database_check_failed", "database_recovered")

	broken.Store(true)
	for n := range modelDown {
		p.sayOnSlack("Where are you?")
		p.until(r, "words", func() bool { return len(p.onSlack()) > n })
	}
	ready(503, `"model","ok":false,"why":"the last 3 turns failed; the log says why"`)
	asked := f.fails(exitFailed, "", "health", "--ready", "--health", address)
	check.Contains(t, "output of health", asked.out, "the last 3 turns failed")
	broken.Store(false)
	p.sayOnSlack("And now?")
	ready(200, `{"part":"model","ok":true}`)
	check.That(t, check.Soon(func() bool { // counted once the answer was sent
		_, said = get(t, "http://"+address+"/metrics")
		return strings.Contains(said, "cairn_turn_duration_seconds_count 5\n")
	}), "got no five turns")
	for _, want := range []string{
		`cairn_turns_total{outcome="answered"} 2`, `cairn_turns_total{outcome="failed"} 3`, `cairn_turns_failed_total{class="auth"} 3`,
		`cairn_model_errors_total{class="auth",work="turn"} 3`, `cairn_model_errors_total{class="auth",work="summary"} 0`,
		"cairn_turn_first_token_seconds_count 2", "cairn_turns_failing 0",
		"cairn_inbox_messages 0", "cairn_inbox_oldest_seconds 0", "cairn_database_readable 1",
		`cairn_memories{state="active"} 0`, `cairn_connector_connected{connector="slack"} 1`,
		`cairn_model_requests_total{model="m",work="turn"} 2`, `cairn_model_requests_total{model="m",work="summary"} 0`,
		`cairn_model_cost_total{kind="output",model="m",work="turn"} 0`, `cairn_compactions_total{state="applied",trigger="emergency"} 0`,
	} {
		check.Contains(t, "the metrics", said, "\n"+want+"\n")
	}
	check.Lacks(t, "the metrics", said, "Where are you", "And now", slacktest.BotToken, "hush")

	p.discord.Close()
	ready(503, `{"part":"discord","ok":false,"why":"not connected"},{"part":"slack","ok":true}`)
	r.stop()
	f.fails(exitFailed, "nothing answers at "+address, "health", "--health", address)
}

func TestFrequentHealthRequestsShareACheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &health{ctx: t.Context()}
		checks := 0
		ask := func() {
			w := httptest.NewRecorder()
			h.answer(w, "ready", func(context.Context) state {
				checks++
				return state{OK: checks == 1}
			})
			check.Equal(t, "status", w.Code, map[int]int{1: 200, 2: 503}[checks])
		}
		for range 10 {
			ask()
		}
		check.Equal(t, "checks at once", checks, 1)
		time.Sleep(probeTTL)
		ask()
		check.Equal(t, "checks a second later", checks, 2)
	})
}

func read(t *testing.T, file string) string {
	t.Helper()
	return string(check.Must(os.ReadFile(file))(t))
}

func first(t *testing.T, form, text string) string {
	t.Helper()
	found := regexp.MustCompile("(?m)" + form).FindStringSubmatch(text)
	check.Require(t, found != nil, "got no %s in %.3000s", form, text)
	return found[1]
}

// longEnough fails unless a service manager waits for the end longer than answers may take.
func longEnough(t *testing.T, setting string) {
	t.Helper()
	check.That(t, check.Must(time.ParseDuration(setting))(t) >= grace+10*time.Second, "got %s to stop, which may take %v", setting, grace)
}

func TestSystemdUnit(t *testing.T) {
	unit := read(t, checkout+"/deploy/cairn.service")
	command := strings.Fields(first(t, `^ExecStart=(.*)$`, unit))
	newFolder(t).must("", append(command[1:], "--help")...) // it knows the command and its flags
	longEnough(t, first(t, `^TimeoutStopSec=(.*)$`, unit))
	kept := strings.Fields(first(t, `^RestartPreventExitStatus=(.*)$`, unit))
	for _, code := range []int{exitUsage, exitInUse, exitDamaged} { // a person must repair it
		check.That(t, slices.Contains(kept, strconv.Itoa(code)), "got %q, want %d among them", kept, code)
	}
	t.Run("it starts again after a crash", func(t *testing.T) {
		l := newFolder(t).start("chat", "--json")
		l.ask(`{"text":"hello"}`, `"accepted"`)
		l.signal(syscall.SIGQUIT) // the runtime treats it like a panic
		_, code := l.rest()
		check.Contains(t, "what a crash leaves", l.errs.String(), "goroutine ")
		for _, codes := range [][]string{kept, strings.Fields(first(t, `^SuccessExitStatus=(.*)$`, unit))} {
			check.That(t, !slices.Contains(codes, strconv.Itoa(code)), "no restart after %d, the exit code of a crash: %s", code, codes)
		}
		check.That(t, !slices.Contains([]int{exitFailed, exitUsage, exitInUse, exitNotFound, exitDamaged}, code), "a crash exits with %d, which has another meaning", code)
	})
	t.Run("systemd finds nothing wrong, and little that it may do", func(t *testing.T) {
		tool, err := exec.LookPath("systemd-analyze")
		if err != nil {
			t.Skip("there is no systemd-analyze")
		}
		program := check.Must(os.Executable())(t) // it wants one that is there
		file := filepath.Join(t.TempDir(), "cairn.service")
		check.NoError(t, os.WriteFile(file, []byte(strings.Replace(unit, command[0], program, 1)), 0o600))
		for _, args := range [][]string{{"verify", "--man=no", file}, {"security", "--offline=yes", "--threshold=15", file}} {
			out, err := exec.Command(tool, args...).CombinedOutput()
			if err != nil && strings.Contains(string(out), "unrecognized option") {
				t.Skipf("it is too old: %s", out)
			}
			check.That(t, err == nil && (args[0] != "verify" || len(out) == 0), "%s: %v\n%s", args[0], err, out)
		}
	})
}

func TestContainerFile(t *testing.T) {
	file := read(t, checkout+"/deploy/Containerfile")
	check.Equal(t, "Go version of the container", first(t, `^FROM golang:(\d+\.\d+)\.\d+-`, file), first(t, `^go (\d+\.\d+)`, read(t, checkout+"/go.mod")))
	words := func(form string) (list []string) {
		check.NoError(t, json.Unmarshal([]byte(first(t, form, file)), &list))
		return list
	}
	entry := words(`^ENTRYPOINT (.*)$`)
	command := words(`^CMD (.*)$`)
	probe := words(`^HEALTHCHECK .* CMD (.*)$`)
	newFolder(t).must("", append(command, "--help")...) // it knows the commands and their flags
	newFolder(t).must("", append(probe[1:], "--help")...)
	check.Equal(t, "the program that the probe runs", probe[0], entry[0])
	check.Equal(t, "the address that the probe asks", probe[len(probe)-1], command[len(command)-1])
	check.That(t, first(t, `^USER (\d+)`, file) != "0", "it runs as root")
	ignored := strings.Fields(read(t, checkout+"/.dockerignore"))
	for _, name := range []string{".git", "data", "config.toml", "*.env"} {
		check.That(t, slices.Contains(ignored, name), "%s is copied into the image", name)
	}
}

// TestComposeFile compares the file with the container file and the program. It needs no Docker.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	file := read(t, checkout+"/deploy/compose.yml")
	checkCompose(t, file)
	longEnough(t, first(t, `^ +stop_grace_period: (.*)$`, file))
	for _, page := range []string{"container.md", "operations.md"} {
		checkRestart(t, read(t, checkout+"/docs/"+page))
	}
	check.Contains(t, "volumes", file, "      - cairn:"+first(t, `^VOLUME (.*)$`, read(t, checkout+"/deploy/Containerfile"))+"\n", "\nvolumes:\n  cairn:\n")
}

// TestComposeFileOfPostgres compares the file of two processes with the container file, the program and the documentation.
func TestComposeFileOfPostgres(t *testing.T) {
	file := read(t, checkout+"/deploy/compose.postgres.yml")
	checkCompose(t, file)
	server, bot, _ := strings.Cut(file, "\n  cairn-a: &cairn\n")
	longEnough(t, first(t, `^ +stop_grace_period: (.*)$`, bot))
	check.Contains(t, "the second process", bot, "\n  cairn-b:\n    <<: *cairn\n    hostname: cairn-b\n")
	check.Contains(t, "the server", server, "image: postgres:", "- postgres:/var/lib/postgresql/data\n", "pg_isready", "POSTGRES_PASSWORD_FILE: /run/secrets/password\n")
	check.Contains(t, "what a bot waits for", bot, "      postgres:\n        condition: service_healthy\n")
	var probe []string
	check.NoError(t, json.Unmarshal([]byte(first(t, `^      test: (.*)$`, bot)), &probe))
	newFolder(t).must("", append(slices.Clone(probe[2:]), "--help")...)
	check.Equal(t, "the address that the probe asks", probe[len(probe)-1], first(t, `"--health", "([^"]*)"]$`, read(t, checkout+"/deploy/Containerfile")))
	page := read(t, checkout+"/docs/machines.md")
	for _, name := range []string{"password", "store"} {
		check.Contains(t, "secrets", file, "    secrets:\n      - "+name+"\n", "    file: ${CAIRN_SECRETS:-./secrets}/"+name+"\n")
		check.Contains(t, "the page", page, "deploy/secrets/"+name)
	}
	check.Contains(t, "the page", page, `store = "file:/run/secrets/store"`)
}

// checkCompose checks what all files of Docker Compose have.
func checkCompose(t *testing.T, file string) {
	t.Helper()
	check.Equal(t, "build", filepath.Clean(filepath.Join(checkout+"/deploy", first(t, `^ +context: (.*)$`, file))), filepath.Clean(checkout))
	check.NoError(t, check.ErrorOf(os.Stat(filepath.Join(checkout, first(t, `^ +dockerfile: (.*)$`, file)))))
	check.Contains(t, "the file", file, ":"+first(t, `^WORKDIR (/etc.*)$`, read(t, checkout+"/deploy/Containerfile"))+":ro\n", "read_only: true", "no-new-privileges:true", "- ALL")
	check.That(t, !regexp.MustCompile(`(?m)^( {2})* \S|\t`).MatchString(file), "got an indentation that is not YAML's by two")
	checkRestart(t, file)
	source := productSource(t)
	for _, variable := range regexp.MustCompile(`(?m)^      - ([A-Z_]+)$`).FindAllStringSubmatch(file, -1) {
		check.That(t, variable[1] == "ALL" || strings.Contains(source, `"`+variable[1]+`"`), "%s is unknown to the program", variable[1])
	}
}

// checkRestart checks that containers start again after a restart of Docker or of the machine. By its documentation, on-failure does not:
// https://docs.docker.com/engine/containers/start-containers-automatically/
func checkRestart(t *testing.T, text string) {
	t.Helper()
	found := regexp.MustCompile(`(?m)(?:^ +restart: |--restart[ =])(\S+)`).FindAllStringSubmatch(text, -1)
	check.That(t, len(found) > 0, "no restart policy")
	for _, policy := range found {
		check.Equal(t, "the restart policy", policy[1], "unless-stopped")
	}
}
