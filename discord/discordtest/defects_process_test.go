// The defects of discordgo v0.29.0 that end a process, each shown in one of its
// own: the test's binary, started again.
package discordtest_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
)

// children are what a started process does.
var children = map[string]func(){
	"panic": func() {
		s := alone(discordtest.Options{})
		s.AddHandler(func(*discordgo.Session, *discordgo.Ready) { panic("in a handler") })
		if s.Open() == nil {
			time.Sleep(patience)
		}
	},
	"race": func() {
		s := alone(discordtest.Options{Heartbeat: 10 * time.Millisecond, HeartbeatWithin: patience})
		if s.Open() != nil {
			return
		}
		for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(time.Millisecond) {
			s.HeartbeatLatency()
		}
	},
}

// alone is a session on a double that nobody ends: the process does.
func alone(o discordtest.Options) *discordgo.Session {
	s, err := discordgo.New("Bot token")
	if err != nil {
		panic(err)
	}
	s.Client = discordtest.New(o).Client()
	return s
}

// child runs one of the children and returns how it ended and what it said.
func child(name, env string) (string, error) {
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), "DISCORDTEST_CHILD="+name, env)
	out, err := process.CombinedOutput()
	return string(out), err
}

func TestAPanicInAHandlerEndsTheProcess(t *testing.T) {
	t.Parallel()
	out, err := child("panic", "")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(out, "panic: in a handler") {
		t.Errorf("the process ended with %v; the defect is that it dies of the panic\n%s", err, out)
	}
}

func TestHeartbeatLatencyRacesWithTheHeartbeat(t *testing.T) {
	t.Parallel()
	if !raceDetector() {
		t.Skip("only the race detector can tell: run with -race")
	}
	out, err := child("race", "GORACE=halt_on_error=1")
	if err == nil || !strings.Contains(out, "DATA RACE") || !strings.Contains(out, "HeartbeatLatency") {
		t.Errorf("the process ended with %v; the defect is a data race in HeartbeatLatency\n%s", err, out)
	}
}

func raceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	for _, setting := range info.Settings {
		if setting.Key == "-race" && setting.Value == "true" {
			return true
		}
	}
	return false
}
