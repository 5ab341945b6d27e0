// Files: what is read, what is only described, and what is left alone.

package discord

import (
	"bytes"
	"strings"
	"testing"

	"cairn/discord/discordtest"
	"cairn/internal/check"
	"cairn/internal/platform"
)

func TestFilesAreReadOrDescribed(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	r.opts.AttachmentTokens, r.opts.Pictures = 100, true
	r.start()
	png := []byte("\x89PNG\r\n\x1a\nnot much of a picture")
	huge := bytes.Repeat([]byte("x"), platform.MaxText+1)
	r.Fail(discordtest.Fault{Route: "GET /attachments/*/*/*", Status: 503})
	m := r.Post(r.square, r.ann.ID, discordtest.Post{Content: "<@" + r.Bot.ID + "> look", Files: []discordtest.File{
		{Name: "notes.txt", ContentType: "text/plain; charset=utf-8", Data: []byte("the plan is simple")},
		{Name: "main.go", Data: []byte("package main")},
		{Name: "cat.png", ContentType: "image/png", Data: png},
		{Name: "huge.log", ContentType: "text/plain", Data: huge},
		{Name: "song.mp3", ContentType: "audio/mpeg", Data: []byte("la la")},
	}})
	r.answers(r.square, 1)
	files := r.heard(r.place(r.square), 1)[0].Attachments
	check.Len(t, "files", files, 5)
	if files[0].Text != "the plan is simple" || files[1].Text != "package main" {
		t.Errorf("the text files: %+v", files[:2])
	}
	if files[2].File == 0 || files[2].Kind != "image" {
		t.Errorf("the picture: %+v", files[2])
	}
	if !strings.HasPrefix(files[3].Text, "xxx") || len(files[3].Text) > 1000 || files[3].Size != int64(len(huge)) || files[4].Kind != "audio" || files[4].Name != "song.mp3" {
		t.Errorf("what is read in part, or only described: %+v", files[3:])
	}
	fetched := len(r.Requests("GET /attachments/*/*/*"))
	r.Edit(r.square, m.ID, "look here")
	r.until("the edit", func() bool { return r.transcript(r.place(r.square))[0].Text == "look here" })
	check.Equal(t, "the text of a file after an edit", r.transcript(r.place(r.square))[0].Attachments[0].Text, "the plan is simple")
	check.Equal(t, "files that were fetched", len(r.Requests("GET /attachments/*/*/*")), fetched)
}
