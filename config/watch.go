// A Watcher rereads the settings files after each edit.

package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"
)

// pollInterval is how often the files are read. Editors write in several steps: an edit counts once
// two reads in a row have found the same.
const pollInterval = 200 * time.Millisecond

// A Watcher rereads the settings files after each edit. It is not safe for concurrent use.
type Watcher struct {
	File string // empty: DefaultFile
	Log  *slog.Logger

	// Current returns the current settings.
	Current func() *Settings
	// Apply puts new settings into force, and rereads the files that they name, such as keys. After an
	// error nothing is changed.
	Apply func(s Settings) error

	last []source // what was last applied, or has mistakes; nil: the files cannot be read
}

// Run applies each edit, and rereads the files after each signal on reload, until ctx ends.
func (w *Watcher) Run(ctx context.Context, reload <-chan os.Signal) {
	w.last = w.Current().sources
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	seen := w.last
	for {
		requested := false
		select {
		case <-poll.C:
		case <-reload:
			requested = true
		case <-ctx.Done():
			return
		}
		files, err := readSources(w.File)
		if requested || sameSources(files, seen) {
			w.read(files, err, requested)
		}
		seen = files
	}
}

// emptied returns an error for an empty file where there was content before: an editor leaves one on
// a full disk, and it would admit everyone whom an access list excludes.
func emptied(before, now []source) error {
	for _, file := range now {
		if old := contentOf(before, file.file); file.blank() && !old.blank() {
			return fmt.Errorf("%s: it is empty; if that is intended, put a comment in it", file.file)
		}
	}
	return nil
}

// read applies the content of the settings files if it has changed, or if requested is true. A mistake is
// logged once per edit, and changes nothing.
func (w *Watcher) read(files []source, err error, requested bool) {
	now := w.Current()
	if err == nil {
		err = emptied(now.sources, files)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(now.sources) == 0:
		return // there was never a file
	case err != nil:
		if w.last != nil || requested {
			w.Log.Error("read_settings_failed", "error", err, "effect", "the settings stay as they were")
		}
		w.last = nil // what comes back is applied
		return
	case sameSources(files, w.last) && !requested:
		return
	}
	w.last = files
	s, err := parse(w.File, files)
	if err == nil {
		err = w.Apply(s)
	}
	if err != nil {
		w.Log.Error("settings_have_mistakes", "mistakes", strings.Split(err.Error(), "\n"), "effect", "the settings stay as they were")
	}
}
