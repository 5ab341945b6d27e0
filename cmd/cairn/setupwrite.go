// The files that cairn setup writes: the settings, and one for each secret.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// write writes the secrets and the settings, and returns the names of the files. None is replaced
// before all are on the disk.
func (s *setup) write(target string) (written []string, err error) {
	if s.app.data != "" {
		dir, err := filepath.Abs(s.app.data)
		if err != nil {
			return nil, err
		}
		s.file.set("data_dir", dir)
	}
	text := bytes.NewBufferString(settingsHead)
	enc := toml.NewEncoder(text)
	enc.Indent = ""
	if err := enc.Encode(s.file); err != nil {
		return nil, err
	}
	files := []secretFile{{target, text.String()}}
	folder := filepath.Join(filepath.Dir(target), secretsFolder)
	if len(s.secrets) > 0 {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("nothing was written: %w", err)
		}
	}
	for _, secret := range s.secrets {
		files = append(files, secretFile{filepath.Join(folder, secret.name), secret.value + "\n"})
	}
	staged := make([]string, len(files))
	for i, file := range files {
		staged[i], err = stage(file)
		defer func() { _ = os.Remove(staged[i]) }() // a no-op once it is renamed
		if err != nil {
			return nil, fmt.Errorf("nothing was written: %w", err)
		}
		written = append(written, file.name)
	}
	for i, file := range slices.Backward(files) { // the secrets before the settings that name them
		if err := s.replace(file.name, staged[i]); err != nil {
			return nil, err
		}
	}
	return written, nil
}

// stage writes a file under another name beside it; only its owner may read it.
func stage(f secretFile) (name string, err error) {
	file, err := os.CreateTemp(filepath.Dir(f.name), ".cairn-setup-*") // created with mode 0600
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(f.value)
	return file.Name(), errors.Join(err, file.Sync(), file.Close())
}

// replace puts a staged file in place. An existing file is kept under a name with the time.
func (s *setup) replace(path, staged string) error {
	if _, err := os.Lstat(path); err == nil {
		before := path + time.Now().Format(".20060102T150405.000")
		if err := os.Rename(path, before); err != nil {
			return err
		}
		s.replaced = append(s.replaced, before)
	}
	return os.Rename(staged, path)
}
