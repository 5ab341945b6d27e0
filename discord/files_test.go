// Files: what is read, what is only described, and what is left alone.

package discord

import (
	"bytes"
	"strings"
	"testing"

	"cairn/channel"
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
	r.Post(r.square, r.ann.ID, discordtest.Post{Content: "<@" + r.Bot.ID + "> look", Files: []discordtest.File{
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
}

func TestThePicturesAndTextsOfOneMessageAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	r.opts.AttachmentTokens, r.opts.Pictures = 60, true
	r.open()
	files := []discordtest.File{
		{Name: "a.txt", ContentType: "text/plain", Data: []byte(strings.Repeat("alpha ", 500))},
		{Name: "b.txt", ContentType: "text/plain", Data: []byte(strings.Repeat("beta ", 500))},
	}
	for range platform.MaxPictures + 1 {
		files = append(files, discordtest.File{Name: "p.png", ContentType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")})
	}
	m := r.Post(r.square, r.ann.ID, discordtest.Post{Content: "x", Files: files})
	var in channel.Inbound
	page, err := r.connector.History(r.ctx, r.place(r.square), channel.Look{After: before(m.ID), Limit: 1})
	said := page.Said
	check.NoError(t, err)
	in, err = r.connector.Complete(r.ctx, r.place(r.square), said[0])
	if err != nil || in.Incomplete || !said[0].Incomplete {
		t.Fatalf("%+v, %v", in, err)
	}
	pictures := 0
	for _, a := range in.Attachments {
		if len(a.Data) > 0 {
			pictures++
		}
		if len(a.Text) > 600 {
			t.Errorf("%s has %d characters, which is no half of 60 tokens", a.Name, len(a.Text))
		}
	}
	if pictures != platform.MaxPictures || in.Attachments[0].Text == "" || in.Attachments[1].Text == "" {
		t.Errorf("%d pictures: %+v", pictures, in.Attachments)
	}
	for _, q := range r.Requests("GET /attachments/*/*/*") {
		check.Equal(t, "status", q.Status, 200)
	}
}

func TestWithoutABudgetNothingIsFetched(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.Post(r.square, r.ann.ID, discordtest.Post{Content: "<@" + r.Bot.ID + "> look", Files: []discordtest.File{
		{Name: "notes.txt", ContentType: "text/plain", Data: []byte("the plan")}, {Name: "cat.png", ContentType: "image/png", Data: []byte("png")},
	}})
	r.answers(r.square, 1)
	check.Equal(t, "files were fetched", len(r.Requests("GET /attachments/*/*/*")), 0)
	if files := r.heard(r.place(r.square), 1)[0].Attachments; len(files) != 2 || files[0].Text != "" {
		t.Errorf("it heard of %+v", files)
	}
}
