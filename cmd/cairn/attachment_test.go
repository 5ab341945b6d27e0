package main

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/discord/discordtest"
)

// TestFileThatCrashesProgram: after two starts the message is answered without the file.
func TestFileThatCrashesProgram(t *testing.T) {
	t.Parallel()
	p, f, r := answering(t, "Here I am.")
	const files = "GET /attachments/*/*/*"
	p.discord.Fail(discordtest.Fault{Route: files, Times: 100, Delay: time.Minute})
	p.discord.Post(p.square, p.ann.ID, discordtest.Post{
		Content: "<@" + p.discord.Bot.ID + "> what is in it?",
		Files:   []discordtest.File{{Name: "notes.txt", ContentType: "text/plain", Data: []byte("the plan")}},
	})
	for start := range 2 {
		p.until(r, "the file is asked for", func() bool { return len(p.discord.Requests(files)) > start })
		r.signal(syscall.SIGKILL)
		<-r.ended
		r = f.start("run")
	}
	p.wait(r, p.onDiscord, "Here I am.")
	check.Equal(t, "requests for the file", len(p.discord.Requests(files)), 2)
	check.Contains(t, fmt.Sprintf("the log lacks the failed download:\n%s", r.errs), r.errs.String(), "message_given_up")
	r.stop()
}
