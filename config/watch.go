// Follows edits of the settings file.
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

// debounce is how long to wait after the last event of an edit: editors write in several steps.
const debounce = 150 * time.Millisecond

// A Watcher rereads the settings file after each edit. It is not safe for concurrent use.
type Watcher struct {
	File string // empty: DefaultFile
	Log  *slog.Logger

	// Current returns the settings in force.
	Current func() *Settings
	// Apply puts new settings into force. After an error nothing is changed. asked reports whether a
	// signal requested it, or the file had mistakes before: then the files that the settings name, such
	// as keys, must be read again too, and the log says so even if nothing changes.
	Apply func(s Settings, asked bool) error

	target     string // base name of the file that a symlink leads to
	lastText   []byte // content of the file when it was last read
	readFailed bool   // whether the last attempt to read the file failed
	mistaken   bool   // whether the last content had mistakes
}

// Run reads the file once, after each edit, and after each signal on reload, until ctx ends.
func (w *Watcher) Run(ctx context.Context, reload <-chan os.Signal) {
	w.File = cmp.Or(w.File, DefaultFile)
	w.lastText = w.Current().text
	var events chan fsnotify.Event
	var lost chan error // events may have been lost
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		err = w.watch(watcher)
		events, lost = watcher.Events, watcher.Errors
	}
	if err != nil {
		w.Log.Warn("watch_settings_failed", "file", w.File, "error", err, "hint", "send SIGHUP after an edit, or restart")
	}
	w.read(false) // for an edit between the start and now
	debounced := time.NewTimer(debounce)
	debounced.Stop()
	for {
		select {
		case event := <-events:
			// Replacing the target of a symlink creates a file with another name.
			if name := filepath.Base(event.Name); name == filepath.Base(w.File) || name == w.target || event.Has(fsnotify.Create) {
				debounced.Reset(debounce)
			}
		case <-lost:
			debounced.Reset(debounce)
		case <-debounced.C:
			_ = w.watch(watcher) // the file may be another link
			w.read(false)
		case <-reload:
			w.read(true)
		case <-ctx.Done():
			return
		}
	}
}

// watch watches the folder of the file and, for a symlink, that of its target. Folders, because
// most editors replace the file by a new one.
func (w *Watcher) watch(watcher *fsnotify.Watcher) error {
	if target, err := filepath.EvalSymlinks(w.File); err == nil {
		w.target = filepath.Base(target)
		_ = watcher.Add(filepath.Dir(target)) // without it, SIGHUP rereads the file
	}
	return watcher.Add(filepath.Dir(w.File))
}

// errEmptied rejects an empty file where there was content before: an editor leaves one on a full
// disk, and it would admit everyone whom an access list excludes.
var errEmptied = errors.New("it is empty; if that is intended, put a comment in it")

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// read applies the settings file if it has changed since the last read, or if reload is true. A
// mistake is logged once per edit, and changes nothing.
func (w *Watcher) read(reload bool) {
	now := w.Current()
	text, err := ReadFile(w.File)
	if err == nil && !reload && blank(text) && !blank(now.text) {
		err = errEmptied
	}
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && now.File == "":
		return // there was never a file
	case err != nil:
		if !w.readFailed || reload {
			w.Log.Error("read_settings_failed", "file", w.File, "error", err, "effect", "the settings stay as they were")
		}
		w.readFailed = true
		return
	}
	back := w.readFailed
	w.readFailed = false
	if bytes.Equal(text, w.lastText) && !reload && !back {
		return
	}
	w.lastText = text
	s, err := Parse(w.File, text)
	if err == nil {
		err = w.Apply(s, reload || back || w.mistaken)
	}
	if w.mistaken = err != nil; err != nil {
		w.Log.Error("settings_have_mistakes", "mistakes", strings.Split(err.Error(), "\n"), "effect", "the settings stay as they were")
	}
}
