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
	return string(check.Must(os.ReadFile(file))(t))
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
	newFolder(t).must("", append(args, "--help")...)
}

// longEnough fails unless a service manager waits for the end longer than answers may take.
func longEnough(t *testing.T, setting string) {
	t.Helper()
	check.That(t, check.Must(time.ParseDuration(setting))(t) >= grace+10*time.Second, "got %s to stop, which may take %v", setting, grace)
}

func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	unit := read(t, checkout+"/deploy/cairn.service")
	command := strings.Fields(first(t, `^ExecStart=(.*)$`, unit))
	understood(t, command[1:])
	longEnough(t, first(t, `^TimeoutStopSec=(.*)$`, unit))
	kept := strings.Fields(first(t, `^RestartPreventExitStatus=(.*)$`, unit))
	for _, code := range []int{exitUsage, exitInUse, exitDamaged} { // a person must mend it
		check.That(t, slices.Contains(kept, strconv.Itoa(code)), "got %q, want %d among them", kept, code)
	}
	t.Run("it starts again after a crash", func(t *testing.T) {
		l := newFolder(t).start("chat", "--json")
		l.say(`{"text":"hello"}`)
		l.until(`"accepted"`)
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
	t.Parallel()
	file := read(t, checkout+"/deploy/Containerfile")
	check.Equal(t, "Go version of the container", first(t, `^FROM golang:(\d+\.\d+)\.\d+-`, file), first(t, `^go (\d+\.\d+)`, read(t, checkout+"/go.mod")))
	words := func(form string) (list []string) {
		check.NoError(t, json.Unmarshal([]byte(first(t, form, file)), &list))
		return list
	}
	entry, command, probe := words(`^ENTRYPOINT (.*)$`), words(`^CMD (.*)$`), words(`^HEALTHCHECK .* CMD (.*)$`)
	understood(t, command)
	understood(t, probe[1:])
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
	file, container := read(t, checkout+"/deploy/compose.yml"), read(t, checkout+"/deploy/Containerfile")
	check.Equal(t, "build", filepath.Clean(filepath.Join(checkout+"/deploy", first(t, `^ +context: (.*)$`, file))), filepath.Clean(checkout))
	check.NoError(t, check.ErrorOf(os.Stat(filepath.Join(checkout, first(t, `^ +dockerfile: (.*)$`, file)))))
	longEnough(t, first(t, `^ +stop_grace_period: (.*)$`, file))
	check.Contains(t, "volumes", file, "      - cairn:"+first(t, `^VOLUME (.*)$`, container)+"\n", ":"+first(t, `^WORKDIR (/etc.*)$`, container)+":ro\n")
	check.Contains(t, "the file", file, "read_only: true", "no-new-privileges:true", "- ALL", "\nvolumes:\n  cairn:\n")
	check.That(t, !regexp.MustCompile(`(?m)^( {2})* \S|\t`).MatchString(file), "got an indentation that is not YAML's by two")
	source := productSource(t)
	for _, variable := range regexp.MustCompile(`(?m)^      - ([A-Z_]+)$`).FindAllStringSubmatch(file, -1) {
		check.That(t, variable[1] == "ALL" || strings.Contains(source, `"`+variable[1]+`"`), "%s is unknown to the program", variable[1])
	}
}
