package compactor_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"cairn/compactor"
)

// A summary of what an emergency is about to hide may land at any moment of it, whether it
// was begun before or is somebody's wish just now, on a disk that takes the marker or does
// not: what is behind the summary is not hidden once more, in its place. The moments are
// those at which the emergency asks for the window.
func TestASummaryMayLandAtAnyMomentOfAnEmergency(t *testing.T) {
	t.Parallel()
	for _, wish := range []bool{false, true} {
		for _, refuses := range []bool{false, true} {
			t.Run(fmt.Sprintf("a wish: %v, the disk refuses: %v", wish, refuses), func(t *testing.T) {
				moments := 0
				for had := true; had && moments < 1000; moments++ {
					synctest.Test(t, func(t *testing.T) { had = landAt(t, moments+1, wish, refuses) })
				}
				if moments < 10 || moments == 1000 {
					t.Errorf("the emergency had %d moments", moments-1)
				}
			})
		}
	}
}

// landAt has a summary land at one moment of an emergency. It tells whether the emergency
// had as many.
func landAt(t *testing.T, moment int, wish, refuses bool) (had bool) {
	t.Helper()
	release := make(chan struct{})
	r := &rig{t: t, dir: folder(t), window: 2000, policy: compactor.DefaultPolicy(), worker: held(release)}
	r.policy.PrepareThreshold = 0
	land := func() {
		if wish {
			r.c.Compact(compactor.OnManual, "")
		}
		close(release)
		if err := r.c.Wait(context.Background()); err != nil {
			t.Error(err)
		}
	}
	disk := &refusing{}
	var left atomic.Int64 // moments until it lands
	r.tune = func(o *compactor.Options) {
		disk.Conversation = r.conv
		o.Records = disk
		o.Window = func() int {
			if left.Add(-1) == 0 {
				land()
			}
			return r.window
		}
	}
	r.open()
	defer r.close()
	for r.share() < 0.95 {
		r.deliver(fmt.Sprintf("note %d %s", len(r.said), filler(60)), false)
		if r.c.Speak(); !wish && r.c.Gauge().Running == nil {
			r.c.Check(t.Context())
		}
	}
	synctest.Wait() // the worker is at the model
	disk.on = refuses
	left.Store(int64(moment))
	r.c.Overflow(t.Context()) // takes the steps of an emergency and begins nothing itself
	if had = left.Swap(0) <= 0; !had {
		land()
	}
	disk.on = false
	r.settle()
	for _, row := range r.c.Gauge().Stack {
		if row.By != compactor.ByWorker {
			t.Errorf("moment %d: the %s %d by %s over %d to %d does not heal", moment, row.Kind, row.ID, row.By, row.From, row.To)
		}
	}
	if err := r.checkShown(); err != nil {
		t.Errorf("moment %d: %v", moment, err)
	}
	r.verify()
	return had
}
