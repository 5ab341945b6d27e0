package main

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"cairn/internal/check"

	"golang.org/x/sys/unix"

	"cairn/llm/llmtest"
)

// pseudoTerminal returns both ends of one.
func pseudoTerminal(t *testing.T) (master, tty *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	check.NoError(t, errors.Join(err, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)))
	tty = check.Must(os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	t.Cleanup(func() { tty.Close() })
	return master, tty
}

func TestStartCheckIsOneLineOnTerminal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script func(x *llmtest.Exchange)
		env    string
		want   func(url string) string
	}{
		"what is wrong, and what to do": {
			failing["a wrong key"].do, "OPENAI_MODEL=m",
			func(url string) string {
				return "m at " + url + " does not answer: model: auth (HTTP 401): no; check OPENAI_API_KEY: it is wrong, has expired, or may not use this model\r\n"
			},
		},
		"which model was chosen": {
			func(x *llmtest.Exchange) { x.Say("yes") }, "OPENAI_MODEL=",
			func(url string) string {
				return "Using test-model, chosen from the models at " + url + "; set model to use another (`cairn models` lists them)\r\n"
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := modelServer(t, c.script)
			master, tty := pseudoTerminal(t)
			cmd := newFolder(t, "OPENAI_API_KEY=hush-hush", "OPENAI_BASE_URL="+server.URL, c.env).command("chat")
			in := check.Must(cmd.StdinPipe())(t)
			cmd.Stderr = tty
			check.NoError(t, cmd.Start())
			var screen check.Buffer
			go func() { _, _ = io.Copy(&screen, master) }() // ends when the terminal closes
			waitForFile(t, screen.String, c.want(server.URL))
			in.Close()
			check.NoError(t, cmd.Wait())
			text := screen.String()
			check.Lacks(t, "screen", text, "hush")
			check.Equal(t, "lines with the address", strings.Count(text, server.URL), 1)
		})
	}
}
