package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/channel"
	"cairn/testkit/fleetmodel"
)

const machinesHelp = `Machines runs several processes of the shipped program on one PostgreSQL database, which it starts, with
doubles of Discord and Slack and a scripted model. People write in many channels at a steady rate, each message a question of its own,
while something goes wrong every few seconds, by turns:
  kill     a process is killed, and a new one starts
  freeze   a process is stopped for --freeze, longer than its lease of %v, and goes on
  drain    a process is stopped by SIGTERM, and a new one starts
  upgrade  all processes are, one after another: a rolling upgrade to the second build of --with, or back if the tables are the same
  network  a process cannot reach the platforms for %v
  restart  the database restarts
  outage   the database is away for %v
Most of the faults of processes meet the one that receives the messages. The doubles are as strict as the platforms: Discord's 50 requests a
second are enough for about ten answers, and Slack lets a bot read the history of 50 channels a minute, as it does before its first answer
in each and after a takeover. What people ask beyond that is answered later, and waits longer than the targets allow.

At the end, what people see, the transcript and what triggers in the database have noted are compared. A question that is lost,
answered twice or out of order, and a row written by a process that does not own the conversation end with exit code 1, and keep the
folder with the logs. Counted apart: an answer that a frozen process repeats when it goes on, because it was frozen between its last
check and the request. Targets: an answer within %v after a kill, within %v after a drain or an upgrade, the model's time included.

Machines --model visits every state of a model of several processes on one PostgreSQL database, which take
conversations over from each other while processes are killed and paused, clocks jump and answers are lost;
package testkit/fleetmodel describes it. A broken rule ends the search, with the shortest way to break it and exit code 1.
Time and memory grow about three- to tenfold with each message and fault; a state takes about 30 bytes.`

const (
	outageLasts = 30 * time.Second
	modelLasts  = (200 + slowRest) * time.Millisecond
	killGap     = channel.LeaseLasts + 2*time.Second + modelLasts
	drainGap    = time.Second + modelLasts
)

// fleetOptions are the flags of a run.
type fleetOptions struct {
	processes, conversations int
	rate, minutes            float64
	freeze                   time.Duration
	faults, on               []string
	with, postgres           string
	seed                     uint64
}

func newMachines() *benchmark {
	var o fleetOptions
	var bounds fleetmodel.Bounds
	var model bool
	help := fmt.Sprintf(machinesHelp, channel.LeaseLasts, cutLasts, outageLasts, killGap, drainGap)
	b := newBenchmark("machines", "Check several processes on one database", help, func(ctx context.Context, s *screen, _ []string) (result, error) {
		if model {
			return searchModel(ctx, s, bounds)
		}
		return runFleet(ctx, s, o)
	})
	b.integer(&o.processes, "processes", 3, 1, 20, "`N` processes; of the model 2 by default")
	b.integer(&o.conversations, "conversations", 1000, 8, 100_000, "`N` channels")
	b.Flags().Float64Var(&o.rate, "rate", 20, "`N` questions a second, in all channels together")
	within(b, "rate", &o.rate, 0.001, 10_000)
	b.Flags().Float64Var(&o.minutes, "minutes", 10, "`N` minutes, without the start and the rest at the end")
	within(b, "minutes", &o.minutes, 0.05, 10_000)
	b.Flags().StringSliceVar(&o.faults, "faults", namesOf(machineFaults), "`LIST` of what goes wrong, by turns")
	b.Flags().DurationVar(&o.freeze, "freeze", time.Minute, "freeze a process for `TIME`")
	within(b, "freeze", &o.freeze, time.Second, time.Hour)
	b.Flags().StringSliceVar(&o.on, "on", []string{"discord", "slack"}, "`LIST` of platforms")
	b.Flags().StringVar(&o.with, "with", "", "`PATH` of Cairn, built from an older or newer commit, for the fault upgrade: the processes run the older one first")
	b.Flags().StringVar(&o.postgres, "postgres", "", "`ADDRESS` of a database, which then meets no faults; the schema "+fleetSchema+" there is removed")
	b.Flags().Uint64Var(&o.seed, "seed", 1, "random seed `N`, for who writes and what fails")
	b.Flags().BoolVar(&model, "model", false, "search the model")
	b.checks = append(b.checks, func() error {
		if !model {
			return o.check(b)
		}
		bounds.Processes = 2
		if b.Flags().Changed("processes") {
			bounds.Processes = o.processes
		}
		if bounds.Processes > fleetmodel.MaxProcesses {
			return wrongFlag(b.Command, "processes", bounds.Processes, fmt.Sprintf("from 1 to %d with --model", fleetmodel.MaxProcesses))
		}
		return nil
	})
	b.modelFlags(&bounds)
	return b
}

// modelFlags adds the bounds of the model.
func (b *benchmark) modelFlags(bounds *fleetmodel.Bounds) {
	b.integer(&bounds.Messages, "messages", 2, 1, fleetmodel.MaxMessages, "model: `N` messages")
	for _, fault := range []struct {
		into  *int
		name  string
		value int
		usage string
	}{
		{&bounds.Crashes, "crashes", 2, "model: kill processes `N` times"},
		{&bounds.Pauses, "pauses", 2, "model: pause processes, or cut them off from the database, `N` times"},
		{&bounds.Jumps, "jumps", 0, "model: let a lease expire `N` times because the database's clock jumps"},
		{&bounds.Lost, "lost", 1, "model: lose the answers of `N` transactions"},
		{&bounds.Slow, "slow", 1, "model: let `N` requests to the platform take long"},
		{&bounds.Drains, "drains", 0, "model: drain processes `N` times"},
	} {
		b.integer(fault.into, fault.name, fault.value, 0, fleetmodel.MaxFaults, fault.usage)
	}
}

func (o *fleetOptions) check(b *benchmark) error {
	if o.postgres != "" && !b.Flags().Changed("faults") {
		o.faults = []string{"kill", "drain", "freeze", "network", "upgrade"}
	}
	for _, name := range o.faults {
		f := faultNamed(name)
		switch {
		case f == nil:
			return wrongFlag(b.Command, "faults", name, strings.Join(namesOf(machineFaults), ", "))
		case f.ofDatabase && o.postgres != "":
			return wrongUse(b.Command, errors.New("--postgres: the bench cannot stop that database, as the fault "+name+" does"))
		}
	}
	for _, name := range o.on {
		if venues[name] == nil {
			return wrongFlag(b.Command, "on", name, "discord, slack or both")
		}
	}
	if len(o.on) == 0 || len(slices.Compact(slices.Sorted(slices.Values(o.on)))) < len(o.on) {
		return wrongFlag(b.Command, "on", o.on, "discord, slack or both")
	}
	return nil
}
