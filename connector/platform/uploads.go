// Files that people hand to the bot itself, in the browser or at a terminal: they become what files of a platform become.

package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cairn/channel"
)

// Upload is a file that somebody hands over.
type Upload struct {
	Name string
	Type string // media type; empty: the name and the content tell it
	Data []byte
}

// Limits for what is handed over with one message.
const (
	MaxUploads     = 10
	MaxUploadBytes = 20 << 20 // in all
)

// An UploadError says, in a sentence that can be translated, why a file cannot be handed over.
type UploadError struct{ text string }

func (e *UploadError) Error() string { return e.text }

func refuseUpload(format string, args ...any) error {
	return &UploadError{fmt.Sprintf(format, args...)}
}

// Read returns the attachments of a message with what could be read of files: texts, pictures, what a recording says. An UploadError says which
// file cannot be read here.
func (f Files) Read(ctx context.Context, conversation string, m channel.Inbound, uploads []Upload) ([]channel.Attachment, error) {
	if len(uploads) > MaxUploads {
		return nil, refuseUpload("A message has at most %s files.", strconv.Itoa(MaxUploads))
	}
	total := 0
	pictures := 0
	for i, u := range uploads {
		a := attachmentOf(u)
		a.URL = strconv.Itoa(i)
		if isPicture := slices.Contains(pictureTypes, a.Type); isPicture {
			pictures++
		}
		total += len(u.Data)
		if err := f.refuses(a, pictures); err != nil {
			return nil, err
		}
		m.Attachments = append(m.Attachments, a)
	}
	if total > MaxUploadBytes {
		return nil, refuseUpload("The files of a message have at most %s MB together.", strconv.Itoa(MaxUploadBytes>>20))
	}
	f.Fetch = func(_ context.Context, at string) ([]byte, error) {
		i, err := strconv.Atoi(at)
		if err != nil {
			return nil, err
		}
		return uploads[i].Data, nil
	}
	all, err := f.Complete(ctx, f.Extract(ctx, conversation, m))
	for i := range all {
		all[i].URL = "" // nothing can be fetched again
	}
	return all, err
}

// refuses returns why a file would not be read; nil: it is.
func (f Files) refuses(a channel.Attachment, pictures int) error {
	switch {
	case a.Size == 0:
		return refuseUpload("%s is empty.", a.Name)
	case isText(a), isPDF(a), isVoice(a):
		if f.Tokens == 0 {
			return refuseUpload("%s cannot be read: attachment_tokens = 0 in the settings.", a.Name)
		}
	case !slices.Contains(pictureTypes, a.Type):
		return refuseUpload("%s cannot be read: only pictures (PNG, JPEG, GIF, WebP), text files, PDFs and recordings can.", a.Name)
	case !f.Pictures:
		return refuseUpload("%s cannot be seen: pictures = false in the settings.", a.Name)
	case a.Size > MaxPicture:
		return refuseUpload("%s is larger than %s MB.", a.Name, strconv.Itoa(MaxPicture>>20))
	case pictures > MaxPictures:
		return refuseUpload("A message has at most %s pictures.", strconv.Itoa(MaxPictures))
	}
	return nil
}

// attachmentOf describes a file. The content says whether it is a picture, else the name what it is.
func attachmentOf(u Upload) channel.Attachment {
	name := path.Base(strings.ReplaceAll(u.Name, "\\", "/"))
	if name == "." || name == "/" {
		name = "file"
	}
	a := channel.Attachment{Name: name, Size: int64(len(u.Data))}
	detected, _, _ := strings.Cut(http.DetectContentType(u.Data), ";")
	named, _, _ := strings.Cut(mime.TypeByExtension(strings.ToLower(path.Ext(name))), ";")
	given, _, err := mime.ParseMediaType(u.Type)
	switch {
	case slices.Contains(pictureTypes, detected), detected == "application/pdf":
		a.Type = detected
	case err == nil && given != "" && given != "application/octet-stream":
		a.Type = given
	case named != "":
		a.Type = named
	default:
		a.Type = detected
	}
	if slices.Contains(pictureTypes, a.Type) && a.Type != detected { // its name says so, and its content does not
		a.Type = detected
	}
	a.Kind = KindOf(a.Type)
	return a
}

// ReadLocal reads the files with these paths for Files.Read. An UploadError says why one cannot be read.
func ReadLocal(paths []string) (all []Upload, err error) {
	for _, at := range paths {
		one, err := readLocal(at)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func readLocal(at string) (u Upload, err error) {
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return u, refuseUpload("%s cannot be read: %s.", at, errors.Unwrap(err))
	case !info.Mode().IsRegular(): // a pipe would never end
		return u, refuseUpload("%s is not a file.", at)
	case info.Size() > MaxUploadBytes:
		return u, refuseUpload("%s is larger than %s MB.", at, strconv.Itoa(MaxUploadBytes>>20))
	}
	f, err := os.Open(at)
	if err != nil {
		return u, refuseUpload("%s cannot be read: %s.", at, errors.Unwrap(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxUploadBytes+1)) // it may grow: Read checks the size
	if err != nil {
		return u, refuseUpload("%s cannot be read: %s.", at, errors.Unwrap(err))
	}
	return Upload{Name: filepath.Base(at), Data: data}, nil
}
