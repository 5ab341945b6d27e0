// cairn doctor: is everything as it should be, and what to do if it is not.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/config"
	"cairn/memory"
)

func newDoctor(a *app) *cobra.Command {
	var d doctor
	cmd := &cobra.Command{
		Use:   "doctor [--fix] [--json]",
		Short: "Check the settings, the data folder, the model servers and the tokens",
		Long: `Check everything a running bot stands on: the settings; the data folder, whose
database is read from end to end; the model of each agent, which is asked a turn with
tools, the same once more, which shows the provider's cache, a picture, and a summary as a
worker asks it; and what the tokens of Discord and Slack may do. It may run beside the bot.

With --fix, what is wrong in the database and can be put right without losing anything
is, after a backup of it; one with damaged pages is made anew, if nothing people said lies
in them. The bot must be stopped for that. Exit code 1: something is wrong.`,
		Example: `  cairn doctor
  cairn doctor --fix
  cairn doctor --json | jq 'select(.ok | not)'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.app = a
			return d.examine(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&d.fix, "fix", false, "put right what can be, after a backup")
	cmd.Flags().BoolVar(&d.json, "json", false, "print one JSON object a line")
	return cmd
}

// patience bounds each question to a server.
const patience = 30 * time.Second

// doctor is one round of checks.
type doctor struct {
	app       *app
	fix, json bool
	wrong     int
}

// check is what became of one check.
type check struct {
	Check string `json:"check"` // settings, data, model, worker, discord, slack
	OK    bool   `json:"ok"`
	Said  string `json:"said"`
}

func (c check) String() string {
	mark := "ok   "
	if !c.OK {
		mark = "WRONG"
	}
	return fmt.Sprintf("%s  %-9s %s", mark, c.Check, strings.ReplaceAll(c.Said, "\n", "\n                 "))
}

func (d *doctor) tell(name string, err error, facts ...string) error {
	for _, fact := range facts {
		if err := d.app.show(d.app.out, check{name, true, fact}, d.json); err != nil {
			return err
		}
	}
	if err == nil {
		return nil
	}
	d.wrong++
	return d.app.show(d.app.out, check{name, false, d.app.secrets.mask(err.Error())}, d.json)
}

func (d *doctor) examine(ctx context.Context) error {
	if err := d.app.load(); err != nil {
		if err := d.tell("settings", err); err != nil {
			return err
		}
		d.app.settings = d.app.withFlags(config.Default()) // of where the data are
	} else if err := d.tell("settings", nil, d.settingsFacts()...); err != nil {
		return err
	}
	for _, look := range []func(context.Context) error{d.data, d.models, d.doors} {
		if err := look(ctx); err != nil {
			return err
		}
	}
	if d.wrong > 0 {
		return fmt.Errorf("%s wrong, see above", counted(d.wrong, "thing is", "things are"))
	}
	return nil
}

// settingsFacts are the name of the file, and what in it should be changed.
func (d *doctor) settingsFacts() []string {
	s := &d.app.settings
	facts := []string{cmp.Or(s.File, "no file, the defaults")}
	for _, w := range s.Warnings {
		facts = append(facts, "warning: "+w.In(s.File))
	}
	if s.Ambiguous() {
		facts = append(facts, "warning: "+bothProviders)
	}
	return facts
}

// read reads the database from end to end and tells what it holds. With --fix one that is
// damaged is made anew.
func (d *doctor) read(ctx context.Context, dir string) (fact string, err error) {
	file := memory.File(dir)
	holds, err := memory.Inspect(ctx, file)
	rebuilt := ""
	switch damaged := errors.Is(err, memory.ErrDamaged); {
	case damaged && d.fix:
		if rebuilt, err = memory.Rebuild(ctx, dir); err == nil {
			holds, err = memory.Inspect(ctx, file)
		}
	case damaged:
		err = fmt.Errorf("%w\nwith the bot stopped, `cairn doctor --fix` makes it anew if nothing people said lies in what is damaged; else `cairn restore FILE` puts a backup in its place", err)
	}
	if err != nil {
		return "", err
	}
	fact = fmt.Sprintf("%s: %s, every page can be read", file, held(holds))
	if rebuilt != "" {
		fact += "\nit was damaged and is made anew; what it was is kept as " + rebuilt
	}
	return fact, nil
}

func (d *doctor) data(ctx context.Context) error {
	dir := d.app.settings.DataDir
	file := memory.File(dir)
	fact, err := d.read(ctx, dir)
	if errors.Is(err, memory.ErrNotFound) {
		return d.tell("data", nil, fmt.Sprintf("%s: there are none yet", dir))
	}
	if err != nil {
		return d.tell("data", err)
	}
	store, err := memory.Open(ctx, memory.Options{Dir: dir, Shared: !d.fix})
	if err != nil {
		return d.tell("data", err, fact)
	}
	found, err := store.Examine(ctx, false)
	if d.fix && err == nil && len(found) > 0 {
		copied := file + time.Now().UTC().Format(".before-20060102T150405.000")
		if _, err = store.Backup(ctx, copied); err == nil {
			fact += "\nbefore anything was mended it was copied to " + copied
			found, err = store.Examine(ctx, true)
		}
	}
	if err = errors.Join(err, store.Close()); err != nil {
		return d.tell("data", err, fact)
	}
	if err := d.tell("data", memory.Writable(dir), fact); err != nil {
		return err
	}
	for _, f := range found {
		said := d.tell("data", errors.New(f.String()))
		if f.Mended {
			d.wrong--
			said = d.tell("data", nil, f.String())
		}
		if said != nil {
			return said
		}
	}
	return nil
}

// checked is a door that can be asked whether it would open.
type checked interface {
	channel.Door
	Check(ctx context.Context) (facts []string, err error)
}

func (d *doctor) doors(ctx context.Context) error {
	doors, err := d.app.openDoors(slog.New(slog.DiscardHandler))
	if errors.Is(err, errNoDoor) {
		return d.tell("doors", nil, "no tokens are set: only the terminal's is open")
	}
	if err != nil {
		return d.tell("doors", err)
	}
	for _, door := range doors {
		c, ok := door.(checked)
		if !ok {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, patience)
		facts, err := c.Check(limited)
		cancel()
		if err := d.tell(c.Name(), err, facts...); err != nil {
			return err
		}
	}
	return nil
}
