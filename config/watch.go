// Following edits of the settings file.
package config

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long to wait after the last sign of an edit: editors write in steps.
const settle = 150 * time.Millisecond

// A Watcher reads the settings file again whenever it was edited. It is used by one goroutine.
type Watcher struct {
	File string // empty: DefaultFile
	Log  *slog.Logger

	// Current returns the settings in force.
	Current func() *Settings
	// Apply puts new settings into force. An error leaves everything as it was. asked: someone
	// sent a signal, so that what the file names, as keys, has to be read again as well.
	Apply func(s Settings, asked bool) error

	seen   []byte // the file as it was last read
	unread bool   // the file could not be read the last time
}

// Run reads the file once, after each edit, and after each signal of reload, until ctx ends.
func (w *Watcher) Run(ctx context.Context, reload <-chan os.Signal) {
	w.File = cmp.Or(w.File, DefaultFile)
	w.seen = w.Current().text
	var events chan fsnotify.Event
	var lost chan error // events may be lost
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		// The folder, because most editors put a new file in the place of the old one.
		err = watcher.Add(filepath.Dir(w.File))
		events, lost = watcher.Events, watcher.Errors
	}
	if err != nil {
		w.Log.Warn("watch_settings_failed", "file", w.File, "error", err, "hint", "send SIGHUP after an edit, or restart")
	}
	w.read(false) // an edit between the start and now
	quiet := time.NewTimer(settle)
	quiet.Stop()
	for {
		select {
		case event := <-events:
			// Another file may be moved into place too, as the target of a link.
			if filepath.Base(event.Name) == filepath.Base(w.File) || event.Has(fsnotify.Create) {
				quiet.Reset(settle)
			}
		case <-lost:
			quiet.Reset(settle)
		case <-quiet.C:
			w.read(false)
		case <-reload:
			w.read(true)
		case <-ctx.Done():
			return
		}
	}
}

// errEmptied is why an empty file does not count where there was a text: an editor that
// found the disk full leaves one, and it would let in everybody whom a list kept out.
var errEmptied = errors.New("it is empty; if that is intended, write a comment into it")

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// read applies the settings file, if it differs from what was read last or if someone
// asked. A mistake is logged once for each edit, and changes nothing.
func (w *Watcher) read(asked bool) {
	now := w.Current()
	text, err := ReadFile(w.File)
	if err == nil && !asked && blank(text) && !blank(now.text) {
		err = errEmptied
	}
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && now.File == "":
		return // there never was one
	case err != nil:
		if !w.unread || asked {
			w.Log.Error("read_settings_failed", "file", w.File, "error", err, "effect", "the settings stay as they were")
		}
		w.unread = true
		return
	}
	w.unread = false
	if bytes.Equal(text, w.seen) && !asked {
		return
	}
	w.seen = text
	s, err := Parse(w.File, text)
	if err == nil {
		err = w.Apply(s, asked)
	}
	if err != nil {
		w.Log.Error("settings_have_mistakes", "mistakes", strings.Split(err.Error(), "\n"), "effect", "the settings stay as they were")
	}
}
