package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/internal/check"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text := check.Must(os.ReadFile(file))(t)
	return string(text)
}

// first returns the first group of a pattern's match.
func first(t *testing.T, form, text string) string {
	t.Helper()
	found := regexp.MustCompile("(?m)" + form).FindStringSubmatch(text)
	check.Require(t, found != nil, "got no %s", form)
	return found[1]
}

// understood fails unless the program knows a command and its flags.
func understood(t *testing.T, args []string) {
	t.Helper()
	if r := newFolder(t).run("", append(args, "--help")...); r.code != 0 {
		t.Errorf("%q: exit code %d, %s", args, r.code, r.err)
	}
}

// crashed runs the program until it crashes: the runtime treats SIGQUIT like a panic.
func (p folder) crashed() result {
	p.t.Helper()
	l := p.start("chat", "--json")
	l.say(`{"text":"hello"}`)
	l.until(`"accepted"`)
	check.NoError(p.t, l.cmd.Process.Signal(syscall.SIGQUIT))
	_, code := l.rest()
	return result{err: l.errs.String(), code: code}
}

func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	unit := read(t, checkout+"/deploy/cairn.service")
	command := strings.Fields(first(t, `^ExecStart=(.*)$`, unit))
	understood(t, command[1:])
	t.Run("it waits longer for the end than answers may take", func(t *testing.T) {
		if wait, err := time.ParseDuration(first(t, `^TimeoutStopSec=(.*)$`, unit)); err != nil || wait < grace+10*time.Second {
			t.Error(wait, err)
		}
	})
	t.Run("it does not try again what a person must mend", func(t *testing.T) {
		codes := strings.Fields(first(t, `^RestartPreventExitStatus=(.*)$`, unit))
		for _, code := range []int{exitUsage, exitInUse, exitDamaged} {
			check.That(t, slices.Contains(codes, strconv.Itoa(code)), "got %d, want one of %q", code, codes)
		}
	})
	t.Run("it starts again after a crash", func(t *testing.T) {
		r := newFolder(t).crashed()
		check.Require(t, strings.Contains(r.err, "goroutine "), "want a crash, got exit code %d, %s", r.code, r.err)
		for _, form := range []string{`^RestartPreventExitStatus=(.*)$`, `^SuccessExitStatus=(.*)$`} {
			if codes := strings.Fields(first(t, form, unit)); slices.Contains(codes, strconv.Itoa(r.code)) {
				t.Errorf("no restart after %d, the exit code of a crash: %s", r.code, codes)
			}
		}
		for _, code := range []int{exitFailed, exitUsage, exitInUse, exitNotFound, exitDamaged} {
			check.That(t, code != r.code, "a crash exits with %d, which has another meaning", code)
		}
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
			if err != nil || args[0] == "verify" && len(out) > 0 {
				t.Errorf("%s: %v\n%s", args[0], err, out)
			}
		}
	})
}

func TestContainerFile(t *testing.T) {
	file := read(t, checkout+"/deploy/Containerfile")
	check.Equal(t, "Go version of the container", first(t, `^FROM golang:(\d+\.\d+)\.\d+-`, file), first(t, `^go (\d+\.\d+)`, read(t, checkout+"/go.mod")))
	var entry, command, probe []string
	for form, into := range map[string]*[]string{`^ENTRYPOINT (.*)$`: &entry, `^CMD (.*)$`: &command, `^HEALTHCHECK .* CMD (.*)$`: &probe} {
		if err := json.Unmarshal([]byte(first(t, form, file)), into); err != nil {
			t.Fatal(form, err)
		}
	}
	understood(t, command)
	understood(t, probe[1:])
	check.Equal(t, "the program that the probe runs", probe[0], entry[0])
	check.Equal(t, "the address that the probe asks", probe[len(probe)-1], command[len(command)-1])
	if user := first(t, `^USER (\d+)`, file); user == "0" {
		t.Error("user")
	}
	ignored := strings.Fields(read(t, checkout+"/.dockerignore"))
	for _, name := range []string{".git", "data", "config.toml", "*.env"} {
		check.That(t, slices.Contains(ignored, name), "%s is copied into the image", name)
	}
}

// TestComposeFile compares the file with the container file and the program. It needs no Docker.
func TestComposeFile(t *testing.T) {
	file, container := read(t, checkout+"/deploy/compose.yml"), read(t, checkout+"/deploy/Containerfile")
	check.Equal(t, "build", filepath.Clean(filepath.Join(checkout+"/deploy", first(t, `^ +context: (.*)$`, file))), filepath.Clean(checkout))
	check.NoError(t, check.ErrorOf(os.Stat(filepath.Join(checkout, first(t, `^ +dockerfile: (.*)$`, file)))))
	if wait, err := time.ParseDuration(first(t, `^ +stop_grace_period: (.*)$`, file)); err != nil || wait < grace+10*time.Second {
		t.Errorf("got a grace of %v, want %v", wait, err)
	}
	volume := first(t, `^VOLUME (.*)$`, container)
	check.Contains(t, "volumes", file, "      - cairn:"+volume+"\n")
	check.Contains(t, "volumes", file, ":"+first(t, `^WORKDIR (/etc.*)$`, container)+":ro\n")
	check.Contains(t, "the file", file, "read_only: true", "no-new-privileges:true", "- ALL", "\nvolumes:\n  cairn:\n")
	if strings.Contains(file, "\t") || regexp.MustCompile(`(?m)^( {2})* \S`).MatchString(file) {
		t.Error("got an indentation that is not YAML's by two")
	}
	source := productSource(t)
	for _, variable := range regexp.MustCompile(`(?m)^      - ([A-Z_]+)$`).FindAllStringSubmatch(file, -1) {
		if variable[1] != "ALL" && !strings.Contains(source, `"`+variable[1]+`"`) {
			t.Errorf("%s is unknown to the program", variable[1])
		}
	}
}
