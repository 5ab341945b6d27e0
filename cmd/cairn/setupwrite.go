// The files that cairn setup writes: the settings, and one for each secret.

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/BurntSushi/toml"
)

// secretsFolder is a folder beside the settings file.
const secretsFolder = "secrets"

// settingsTable is the content of the written file, or one of its tables. What is empty is left out,
// and keeps its default.
type settingsTable map[string]any

func (t settingsTable) set(key, value string) {
	if value != "" {
		t[key] = value
	}
}

const settingsHead = "# Written by `cairn setup`. All settings and their defaults: docs/configuration.md.\n" +
	"# Edits apply while the bot runs; `cairn config check` finds mistakes.\n\n"

// secretFile is a secret to write, and the name of its file.
type secretFile struct{ name, value string }

// keep adds a secret to the files to write, and returns the reference for the settings.
func (s *setup) keep(name, value string) string {
	s.secrets = append(s.secrets, secretFile{name, value})
	return "file:" + secretsFolder + "/" + name
}

// write writes the secrets, and then the settings that name them.
func (s *setup) write(target string) error {
	if s.app.data != "" {
		dir, err := filepath.Abs(s.app.data)
		if err != nil {
			return err
		}
		s.file.set("data_dir", dir)
	}
	text := bytes.NewBufferString(settingsHead)
	enc := toml.NewEncoder(text)
	enc.Indent = ""
	if err := enc.Encode(s.file); err != nil {
		return err
	}
	folder := filepath.Join(filepath.Dir(target), secretsFolder)
	if len(s.secrets) > 0 {
		if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	for _, secret := range s.secrets {
		if err := s.replace(filepath.Join(folder, secret.name), secret.value+"\n"); err != nil {
			return err
		}
	}
	return s.replace(target, text.String())
}

// replace writes a file that only its owner may read. An existing one is kept under a name with the
// time.
func (s *setup) replace(path, text string) error {
	if _, err := os.Lstat(path); err == nil {
		before := path + time.Now().Format(".20060102T150405.000")
		if err := os.Rename(path, before); err != nil {
			return err
		}
		s.say("Kept: %s", before)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	s.say("Written: %s", path)
	return nil
}
