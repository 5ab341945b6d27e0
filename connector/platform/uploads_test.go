package platform

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/testkit/check"
)

const (
	png = "\x89PNG\r\n\x1a\n"
)

func TestUploads(t *testing.T) {
	f := Files{Tokens: 100, Pictures: true}
	read := func(f Files, all ...Upload) ([]channel.Attachment, error) {
		return f.Read(t.Context(), "web:general", channel.Inbound{ID: "1", Addressed: true}, all)
	}
	upload := func(name, kind, data string) Upload { return Upload{Name: name, Type: kind, Data: []byte(data)} }
	all := check.Must(read(f, upload("C:\\my\\notes.md", "", "# The pond"), upload("../../etc/gate.png", "text/html", png), upload("main.ts", "video/mp2t", "let x = 1")))(t)
	check.Len(t, "attachments", all, 3)
	check.Equal(t, "a text", all[0].Name+": "+all[0].Text, "notes.md: # The pond")
	check.Equal(t, "a picture, whatever it claims to be", all[1].Name+" "+all[1].Type+" "+all[1].Kind+" "+string(all[1].Data), "gate.png image/png image "+png)
	check.Equal(t, "code", all[2].Text, "let x = 1")
	for _, a := range all {
		check.Equal(t, "address of "+a.Name, a.URL, "")
	}
	for claim, c := range map[string]struct {
		with Files
		all  []Upload
		says string
	}{
		"an archive":                             {f, []Upload{upload("x.zip", "application/zip", "PK\x03\x04")}, "x.zip cannot be read: only pictures"},
		"no picture, for its name":               {f, []Upload{upload("x.png", "image/png", "\x00\x01\x02")}, "x.png cannot be read: only pictures"},
		"a picture while these are switched off": {Files{Tokens: 100}, []Upload{upload("x.png", "", png)}, "pictures = false"},
		"a text while these are":                 {Files{Pictures: true}, []Upload{upload("x.md", "", "x")}, "attachment_tokens = 0"},
		"an empty file":                          {f, []Upload{upload("x.md", "", "")}, "x.md is empty"},
		"a large picture":                        {f, []Upload{upload("x.png", "", png+strings.Repeat("x", MaxPicture))}, "larger than 5 MB"},
		"too many pictures":                      {f, []Upload{upload("1", "", png), upload("2", "", png), upload("3", "", png), upload("4", "", png), upload("5", "", png)}, "at most 4 pictures"},
		"too many files":                         {f, make([]Upload, MaxUploads+1), "at most 10 files"},
		"too many bytes":                         {f, []Upload{upload("x.md", "", strings.Repeat("x", MaxUploadBytes)), upload("y.md", "", "y")}, "at most 20 MB"},
		"an SVG, which can have code":            {f, []Upload{upload("x.svg", "image/svg+xml", "<svg/>")}, "x.svg cannot be read"},
	} {
		_, err := read(c.with, c.all...)
		_, refused := errors.AsType[*UploadError](err)
		check.That(t, refused, "%s: %v", claim, err)
		check.ErrorContains(t, claim, err, c.says)
	}
}

func TestReadLocal(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "notes.md")
	check.NoError(t, os.WriteFile(at, []byte("the pond"), 0o600))
	all := check.Must(ReadLocal([]string{at}))(t)
	check.Equal(t, "read", all[0].Name+": "+string(all[0].Data), "notes.md: the pond")
	for says, at := range map[string]string{"is not a file": dir, "no such file": filepath.Join(dir, "none")} {
		_, err := ReadLocal([]string{at})
		check.ErrorContains(t, at, err, says)
	}
}
