package terminal

import (
	"os"
	"path/filepath"
	"testing"

	"cairn/channel"
	"cairn/connector/platform"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func TestFilesAreAttachedByName(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		check.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		check.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	write("pond.md", "# The pond")
	write("plans/gate.txt", "green")
	write("plans/x.zip", "PK\x03\x04")
	write("researcher", "no agent")
	k := sit(t, Options{Files: func() (platform.Files, error) { return platform.Files{Tokens: 100}, nil }}, scripted(says("One.")))
	k.shows(t, "compare @pond.md and @plans/gate.txt, please\r", "attached: gate.txt")
	k.screen.wait(t, "One.")
	attached := func(seq int64) []channel.Attachment {
		c := check.Must(k.store.Find(t.Context(), "terminal:general"))(t)
		return check.Must(c.Transcript().Message(t.Context(), seq))(t).Attachments
	}
	all := attached(1)
	check.Len(t, "attachments", all, 2)
	check.Equal(t, "texts", all[0].Text+" "+all[1].Text, "# The pond green")
	k.shows(t, "see @plans/x.zip\r", "x.zip cannot be read: only pictures") // and nothing is sent
	k.shows(t, "@researcher ada@pond.md @none.md @plans/ hello\r", "hello") // an agent, an address, no file, a folder
	stored := func() bool {
		_, err := storetest.Find(t, k.store, "terminal:general").Transcript().Message(t.Context(), 3)
		return err == nil
	}
	check.Require(t, check.Soon(stored), "the message is not stored")
	check.Len(t, "attachments", attached(3), 0)
	k.shows(t, "@pl\t", "@plans/")
	k.shows(t, "g\t", "@plans/gate.txt")
}

// What was pasted may name files that its author wants to read.
func TestPastedTextAttachesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	check.NoError(t, os.WriteFile("keys.md", []byte("secret"), 0o600))
	e := &editor{files: func() (platform.Files, error) { return platform.Files{Tokens: 100}, nil }}
	m := channel.Inbound{ID: "1", Text: "long text @keys.md"}
	check.NoError(t, e.attach(t.Context(), &m, "[pasted 1: 5000 characters, 3 lines]"))
	check.Len(t, "attachments", m.Attachments, 0)
}
