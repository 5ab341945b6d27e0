// The files that cairn setup writes: the settings, and one for each secret.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/BurntSushi/toml"

	"cairn/config"
)

// secretsFolder is a folder beside the settings file.
const secretsFolder = "secrets"

// settingsFile has the settings in the written file; all others keep their defaults.
type settingsFile struct {
	DataDir string        `toml:"data_dir,omitempty"`
	LLM     *llmTable     `toml:"llm,omitempty"`
	Discord *discordTable `toml:"discord,omitempty"`
	Slack   *slackTable   `toml:"slack,omitempty"`
}

type llmTable struct {
	BaseURL string `toml:"base_url,omitempty"`
	Model   string `toml:"model,omitempty"`
	APIKey  string `toml:"api_key,omitempty"`
}

type discordTable struct {
	Token          string `toml:"token"`
	APIBase        string `toml:"api_base,omitempty"`
	MessageContent *bool  `toml:"message_content,omitempty"` // nil: true
}

type slackTable struct {
	BotToken string `toml:"bot_token"`
	AppToken string `toml:"app_token"`
	APIBase  string `toml:"api_base,omitempty"`
}

const settingsHead = "# Written by `cairn setup`. All settings and their defaults: docs/configuration.md.\n" +
	"# Edits apply while the bot runs; `cairn config check` finds mistakes.\n\n"

// write writes the secrets and then the settings, and returns the names of the files. After an
// error it restores the previous state.
func (s *setup) write(target string) (written []string, err error) {
	if s.app.data != "" {
		if s.file.DataDir, err = filepath.Abs(s.app.data); err != nil {
			return nil, err
		}
	}
	text := bytes.NewBufferString(settingsHead)
	enc := toml.NewEncoder(text)
	enc.Indent = ""
	if err := enc.Encode(s.file); err != nil {
		return nil, err
	}
	var u undo
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("nothing was written: %w", err), u.all())
		}
	}()
	folder := filepath.Join(filepath.Dir(target), secretsFolder)
	for _, secret := range s.secrets {
		if err := u.makeFolder(folder); err != nil {
			return nil, err
		}
		path := filepath.Join(folder, secret.name)
		if err := u.replace(path, []byte(secret.value+"\n")); err != nil {
			return nil, err
		}
		written = append(written, path)
	}
	if _, err := config.Parse(target, text.Bytes()); err != nil {
		return nil, err
	}
	if err := u.replace(target, text.Bytes()); err != nil {
		return nil, err
	}
	s.replaced = u.replaced
	return append([]string{target}, written...), nil
}

// undo reverts what was written.
type undo struct {
	steps    []func() error
	replaced []string // backup names of the files that were replaced
}

func (u *undo) all() error {
	var failed []error
	for _, step := range slices.Backward(u.steps) {
		failed = append(failed, step())
	}
	return errors.Join(failed...)
}

func (u *undo) makeFolder(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		u.steps = append(u.steps, func() error { return os.Remove(path) })
	}
	return err
}

// replace writes a file that only its owner may read. An existing file is kept under a name with
// the time.
func (u *undo) replace(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".cairn-setup-*") // created with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // a no-op once it is renamed
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		before := path + time.Now().Format(".20060102T150405.000")
		if err := os.Rename(path, before); err != nil {
			return err
		}
		u.steps = append(u.steps, func() error { return os.Rename(before, path) })
		u.replaced = append(u.replaced, before)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	u.steps = append(u.steps, func() error { return os.Remove(path) })
	return nil
}
