package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"cairn/store"
)

// importKills is the result of killing imports.
type importKills struct {
	Kind    string `json:"kind"`
	Kills   int    `json:"kills"`
	Runs    int    `json:"runs"` // of the command until all was imported, in all
	Wrong   int    `json:"wrong"`
	Example string `json:"example,omitempty"`
}

// killImports kills imports at random moments. Every third is killed once more while it continues.
func killImports(ctx context.Context, s *screen, program program, kind string, text importText, kills int) (r importKills, err error) {
	file := filepath.Join(program.dir, "past.jsonl")
	data := filepath.Join(program.dir, "data")
	if err := errors.Join(os.RemoveAll(data), writeImport(file, text)); err != nil {
		return r, err
	}
	r = importKills{Kind: kind}
	start := time.Now()
	if err := importInto(ctx, program, file, 0); err != nil {
		return r, err
	}
	whole := time.Since(start)
	dice := rand.New(rand.NewPCG(1, 3))
	for r.Kills < kills {
		s.progress("%s: %d of %d imports were killed", kind, r.Kills, kills)
		if err := os.RemoveAll(data); err != nil {
			return r, err
		}
		for range 1 + r.Kills%3/2 {
			r.Runs++
			err := importInto(ctx, program, file, time.Duration(dice.Int64N(int64(whole))))
			if err != nil && !errors.As(err, new(*exec.ExitError)) {
				return r, err
			}
		}
		r.Kills++
		r.Runs++
		if err := importInto(ctx, program, file, 0); err != nil {
			return r, err
		}
		wrong, err := lookAtImport(ctx, program)
		if err != nil {
			return r, err
		}
		if wrong != "" {
			r.Wrong++
			r.Example = wrong
		}
	}
	return r, nil
}

// importInto imports a file, and kills the import after a time; 0: never.
func importInto(ctx context.Context, program program, file string, after time.Duration) error {
	cmd := program.command(ctx, "import", "--data", "data", "--channel", "past", file)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return err
	}
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it may have ended
		defer timer.Stop()
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("import: %w\n%s", err, said.Bytes())
	}
	return nil
}

// lookAtImport returns what is wrong with a finished import; "": nothing.
func lookAtImport(ctx context.Context, program program) (wrong string, err error) {
	said, _ := program.command(ctx, "doctor", "--data", "data").CombinedOutput() // its exit code is 1 without a model
	if !bytes.Contains(said, []byte("every page can be read")) || bytes.Contains(said, []byte("WRONG  data")) {
		return fmt.Sprintf("doctor: %s", said), nil
	}
	db, err := store.Open(ctx, store.Options{Dir: filepath.Join(program.dir, "data")})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conversation, err := db.Find(ctx, "terminal:past")
	if err != nil {
		return "", err
	}
	n, err := conversation.Transcript().Counts(ctx)
	if err != nil {
		return "", err
	}
	unread, err := conversation.Past().Unread(ctx)
	if n.Messages != importKilled || unread != 0 {
		wrong = fmt.Sprintf("%d messages are stored, %d not summarized", n.Messages, unread)
	}
	return wrong, err
}

// writeImport writes a file for "cairn import".
func writeImport(file string, text importText) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	for _, m := range past(importKilled, time.Now().Add(-importKilled*time.Minute), text.message) {
		err = errors.Join(err, lines.Encode(map[string]any{"id": m.ID, "time": m.Time, "author": m.Author, "text": m.Text}))
	}
	return errors.Join(err, out.Close())
}
