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
	"strings"
	"time"
)

// pollInterval is how often the file is read. Editors write in several steps: an edit counts once
// two reads in a row have found the same.
const pollInterval = 200 * time.Millisecond

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

	lastText []byte // the content that was last applied, or has mistakes; nil: the file cannot be read
	failed   bool   // whether the last content had mistakes, or the file could not be read
}

// Run applies each edit, and rereads the file after each signal on reload, until ctx ends.
func (w *Watcher) Run(ctx context.Context, reload <-chan os.Signal) {
	w.File = cmp.Or(w.File, DefaultFile)
	w.lastText = w.Current().text
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	seen := w.lastText
	for {
		asked := false
		select {
		case <-poll.C:
		case <-reload:
			asked = true
		case <-ctx.Done():
			return
		}
		text, err := ReadFile(w.File)
		if asked || bytes.Equal(text, seen) {
			w.read(text, err, asked)
		}
		seen = text
	}
}

// errEmptied rejects an empty file where there was content before: an editor leaves one on a full
// disk, and it would admit everyone whom an access list excludes.
var errEmptied = errors.New("it is empty; if that is intended, put a comment in it")

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// read applies the content of the settings file if it has changed, or if asked is true. A mistake is
// logged once per edit, and changes nothing.
func (w *Watcher) read(text []byte, err error, asked bool) {
	now := w.Current()
	if err == nil && !asked && blank(text) && !blank(now.text) {
		err = errEmptied
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && now.File == "":
		return // there was never a file
	case err != nil:
		if w.lastText != nil || asked {
			w.Log.Error("read_settings_failed", "file", w.File, "error", err, "effect", "the settings stay as they were")
		}
		w.failed, w.lastText = true, nil // what comes back is applied and logged
		return
	case bytes.Equal(text, w.lastText) && !asked:
		return
	}
	w.lastText = text
	s, err := Parse(w.File, text)
	if err == nil {
		err = w.Apply(s, asked || w.failed)
	}
	if w.failed = err != nil; w.failed {
		w.Log.Error("settings_have_mistakes", "mistakes", strings.Split(err.Error(), "\n"), "effect", "the settings stay as they were")
	}
}
