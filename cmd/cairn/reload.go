// Edits of the settings file are taken up while the bot runs.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long an edit may go on after its last sign: editors write in steps.
const settle = 150 * time.Millisecond

// needRestart are the settings that are looked at once, at the start: they make the
// doors, the store and the pool of workers. All others count from the next turn on.
var needRestart = []string{
	"data_dir", "catch_up", "time_zone", "workers", "attachment_tokens", "pictures", "health",
	"discord.token", "discord.api_base", "discord.message_content",
	"slack.bot_token", "slack.app_token", "slack.api_base", "slack.working", "slack.reply_in",
}

// follow takes up edits of the settings file until the bot is closed. With hup it does
// so on SIGHUP too, and then reads again what the file names: keys and prompts.
func (b *bot) follow(hup bool) {
	signals := make(chan os.Signal, 1)
	if hup {
		signal.Notify(signals, syscall.SIGHUP)
	}
	file := b.app.settingsFile()
	var events chan fsnotify.Event
	var lost chan error // events may be
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		// The folder, for most editors put a new file in the place of the old one.
		err = watcher.Add(filepath.Dir(file))
		events, lost = watcher.Events, watcher.Errors
	}
	if err != nil {
		b.log.Warn("edits of the settings file will not be noticed; send SIGHUP, or start again", "error", err)
	}
	b.tasks.Go(func() {
		defer signal.Stop(signals)
		if watcher != nil {
			defer watcher.Close()
		}
		b.reload(false) // what was edited since it was read
		quiet := time.NewTimer(settle)
		quiet.Stop()
		for {
			select {
			case event := <-events:
				// Something else may be moved into place too, as the target of a link.
				if filepath.Base(event.Name) == filepath.Base(file) || event.Has(fsnotify.Create) {
					quiet.Reset(settle)
				}
			case <-lost:
				quiet.Reset(settle)
			case <-quiet.C:
				b.reload(false)
			case <-signals:
				b.reload(true)
			case <-b.ctx.Done():
				return
			}
		}
	})
}

// errEmptied is why an empty file does not count where there was a text: an editor that
// found no room on the disk leaves one, and it would let everybody in whom a list kept out.
var errEmptied = errors.New("it is empty; if that is meant, write a comment into it")

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// reload reads the settings file, if it is another one than it was or if somebody asks
// for it, and has it take effect. A mistake is told, once for each edit, and changes nothing.
func (b *bot) reload(asked bool) {
	now := b.live.Load()
	text, err := readFile(b.app.settingsFile())
	if err == nil && !asked && blank(text) && !blank(now.settings.text) {
		err = errEmptied
	}
	switch gone := errors.Is(err, fs.ErrNotExist); {
	case gone && now.settings.file == "":
		return // there never was one
	case err != nil:
		if !b.unread || asked {
			b.log.Error("the settings file cannot be read; the settings stay as they were", "error", err)
		}
		b.unread = true
		return
	}
	b.unread = false
	if bytes.Equal(text, b.seen) && !asked {
		return
	}
	b.seen = text
	s, err := parseSettings(b.app.settingsFile(), text)
	next := &standing{settings: b.app.flagged(s)}
	if err == nil {
		b.app.secrets.learn(next.settings.secrets()...)
		next.agents, err = b.agents(&next.settings)
	}
	if err != nil {
		b.log.Error("the settings file has mistakes; the settings stay as they were", "mistakes", strings.Split(err.Error(), "\n"))
		return
	}
	changed := changedKeys(&now.settings, &next.settings)
	if len(changed) == 0 && !asked {
		return
	}
	b.live.Store(next)
	b.store.ShareMemories(next.settings.ShareMemories == shareServer)
	b.hub.Renew(b.rules(&next.settings))
	b.log.Info("the settings are taken up; they count from the next turn on", "changed", changed)
	if waiting := restartKeys(changedKeys(b.begun, &next.settings)); len(waiting) > 0 {
		b.log.Warn("some settings count only after a restart", "settings", waiting)
	}
	b.warn(&next.settings)
	b.weigh()
	if b.check != nil {
		b.check()
	}
}

// weigh warns of agents whose levels are reached before anybody has said anything.
func (b *bot) weigh() {
	now := b.live.Load()
	b.tasks.Go(func() { // the server may have to be asked for its window
		for _, id := range slices.Sorted(maps.Keys(now.agents)) {
			if problem := now.agents[id].Tight(b.ctx); problem != "" && b.ctx.Err() == nil {
				b.log.Warn("an agent's window is too small for its levels", "agent", id, "problem", problem)
			}
		}
	})
}

// changedKeys lists what differs between two settings: "discord.allow",
// `agents.compaction.keep_first of agent "small"`.
func changedKeys(a, b *settings) []string {
	before, after := a.flat(), b.flat()
	changed := []string{}
	for _, key := range slices.Sorted(maps.Keys(mergedKeys(before, after))) {
		if before[key] != after[key] {
			changed = append(changed, key)
		}
	}
	return changed
}

func mergedKeys(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// flat is each setting that is not zero, by its name.
func (s *settings) flat() map[string]string {
	flat := map[string]string{}
	add := func(of string, list []changedValue) {
		for _, v := range list {
			table, which, _ := strings.Cut(v.Table, "] ") // "[bindings] number 1"
			table = strings.Trim(table, "[]")
			flat[strings.TrimSpace(strings.TrimPrefix(table+"."+v.Key, ".")+" "+which+of)] = fmt.Sprint(v.Value)
		}
	}
	add("", differing("", *s, settings{}))
	var ids []string
	for _, agent := range s.agents() {
		ids = append(ids, agent.ID)
		add(fmt.Sprintf("of agent %q", agent.ID), differing("agents", agent, agentSettings{}))
	}
	flat["agents"] = fmt.Sprint(ids) // their order counts too
	return flat
}

// restartKeys are those of keys that count only after a restart.
func restartKeys(keys []string) (waiting []string) {
	for _, key := range keys {
		if slices.Contains(needRestart, key) {
			waiting = append(waiting, key)
		}
	}
	return waiting
}
