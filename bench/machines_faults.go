package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"cairn/channel"
)

// machineFault is something that goes wrong during a run of several processes.
type machineFault struct {
	name       string
	lasts      time.Duration
	ofDatabase bool
	ofAll      bool // processes, one after another
	do         func(ctx context.Context, r *fleetRun, m *machine) error
}

// cutLasts is how long a process cannot reach the platforms: long enough that others take over.
const cutLasts = channel.DefaultPatience + 15*time.Second

var machineFaults = []machineFault{
	{name: "kill", do: func(ctx context.Context, _ *fleetRun, m *machine) error {
		return m.end(ctx, syscall.SIGKILL, shutdown)
	}},
	{name: "drain", lasts: 2 * time.Second, do: func(ctx context.Context, _ *fleetRun, m *machine) error {
		return m.end(ctx, syscall.SIGTERM, 2*shutdown)
	}},
	{name: "restart", lasts: time.Second, ofDatabase: true, do: func(ctx context.Context, r *fleetRun, _ *machine) error {
		return r.withoutDatabase(ctx, 0)
	}},
	{name: "freeze", do: func(ctx context.Context, r *fleetRun, m *machine) error {
		if err := m.signal(syscall.SIGSTOP); err != nil {
			return err
		}
		if err := sleep(ctx, r.o.freeze); err != nil {
			return err
		}
		return m.signal(syscall.SIGCONT)
	}},
	{name: "network", lasts: cutLasts, do: func(ctx context.Context, _ *fleetRun, m *machine) error {
		m.network.Cut()
		defer m.network.Restore()
		return sleep(ctx, cutLasts)
	}},
	{name: "upgrade", ofAll: true, do: func(ctx context.Context, r *fleetRun, _ *machine) error {
		return r.upgrade(ctx)
	}},
	{name: "outage", lasts: outageLasts, ofDatabase: true, do: func(ctx context.Context, r *fleetRun, _ *machine) error {
		return r.withoutDatabase(ctx, outageLasts)
	}},
}

func faultNamed(name string) *machineFault {
	for i := range machineFaults {
		if machineFaults[i].name == name {
			return &machineFaults[i]
		}
	}
	return nil
}

func namesOf(faults []machineFault) (names []string) {
	for _, f := range faults {
		names = append(names, f.name)
	}
	return names
}

// injected is a fault that has happened.
type injected struct {
	Kind     string    `json:"fault"`
	Clock    string    `json:"at"`
	Process  int       `json:"process"`  // 0: the database, or all
	Received bool      `json:"received"` // the process was the one that received messages
	Seconds  float64   `json:"seconds"`
	began    time.Time // and ended
	ended    time.Time
}

// name is the fault, and whom it met.
func (i injected) name() string {
	if i.Process != 0 && !i.Received {
		return i.Kind + " of a process that stands by"
	}
	return i.Kind
}

// between is the time from the end of a fault to the next: longer than others need to take over.
const between = 15 * time.Second

// fail has faults happen, by turns, until the end of the run.
func (r *fleetRun) fail(ctx context.Context, until time.Time) error {
	if err := sleep(ctx, min(between, time.Until(until)/4)); err != nil {
		return err
	}
	for n := 0; ; n++ {
		f := r.nextFault(n, time.Until(until))
		if f == nil {
			return nil
		}
		if err := r.inject(ctx, f); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if err := sleep(ctx, min(between, max(time.Until(until), 0))); err != nil {
			return err
		}
	}
}

// nextFault returns the next one, by turns, for which there is time; nil: none.
func (r *fleetRun) nextFault(n int, left time.Duration) *machineFault {
	for i := range r.o.faults {
		f := faultNamed(r.o.faults[(n+i)%len(r.o.faults)])
		lasts := max(f.lasts, time.Second)
		switch {
		case f.name == "freeze":
			lasts = r.o.freeze
		case f.ofAll:
			lasts = r.upgradeLasts()
		}
		if left > lasts {
			return f
		}
	}
	return nil
}

func (r *fleetRun) inject(ctx context.Context, f *machineFault) error {
	done := injected{Kind: f.name}
	var m *machine
	if !f.ofDatabase && !f.ofAll {
		var err error
		m, done.Received, err = r.victim(ctx)
		if err != nil {
			return err
		}
		done.Process = m.pid()
	}
	done.began = time.Now()
	done.Clock = clockTime(done.began)
	r.note(func() { r.now = f.name })
	err := f.do(ctx, r, m)
	done.ended = time.Now()
	done.Seconds = done.ended.Sub(done.began).Seconds()
	r.note(func() {
		r.now = ""
		r.injected = append(r.injected, done)
	})
	return err
}

// victim chooses a process: three times of four the one that receives messages.
func (r *fleetRun) victim(ctx context.Context) (m *machine, received bool, err error) {
	names, err := r.guard.running(ctx)
	if err != nil {
		return nil, false, err
	}
	m = r.machines[r.random.IntN(len(r.machines))]
	for _, one := range r.machines {
		if len(names) == 0 || !strings.HasSuffix(names[0], fmt.Sprint(":", one.pid())) {
			continue
		}
		if r.random.IntN(4) > 0 {
			m = one
		}
		received = m == one
	}
	return m, received, nil
}

func (r *fleetRun) withoutDatabase(ctx context.Context, lasts time.Duration) error {
	r.cluster.Down()
	err := sleep(ctx, lasts)
	if err != nil {
		return err
	}
	return r.cluster.Up()
}
