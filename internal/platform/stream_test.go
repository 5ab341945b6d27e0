package platform

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"
)

// following is a stream in an open group, and the texts that it showed. Each is shown again after
// the next of waits; a negative one means that there is no use in that.
func following(t *testing.T, waits ...time.Duration) (s *Stream, g *Group, shown *[]string) {
	s, g, shown = NewStream(), &Group{}, new([]string)
	g.Open(t.Context())
	s.Start(g, func(context.Context) {
		s.Follow(func() time.Duration { return time.Second }, func(text string) (time.Duration, bool) {
			*shown = append(*shown, text)
			if len(waits) == 0 {
				return 0, true
			}
			again := waits[0]
			waits = waits[1:]
			return max(again, 0), again >= 0
		})
	})
	return s, g, shown
}

func TestAStreamShowsTheNewestText(t *testing.T) {
	for claim, c := range map[string]struct {
		waits []time.Duration
		want  []string
	}{
		"after its pause":          {nil, []string{"b", "c"}},
		"again where that is due":  {[]time.Duration{time.Millisecond}, []string{"b", "b", "c"}},
		"until there is no use":    {[]time.Duration{-1}, []string{"b"}},
		"and the newest, if later": {[]time.Duration{time.Minute}, []string{"b", "c", "c"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, g, shown := following(t, c.waits...)
			s.Set("a")
			s.Set("b")
			time.Sleep(2 * time.Second)
			s.Set("c")
			time.Sleep(time.Hour)
			s.Stop()
			s.Set("d")
			g.Close()
			if !slices.Equal(*shown, c.want) {
				t.Errorf("%s: it showed %q, want %q", claim, *shown, c.want)
			}
		})
	}
}

func TestAStreamThatBeginsBeforeItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := new(Group)
		var ran []string
		begin := func(name string) *Stream {
			s := NewStream()
			s.Start(g, func(context.Context) { ran = append(ran, name) })
			return s
		}
		shown := begin("shown")
		begin("sent before").Stop()
		g.Open(t.Context())
		g.Close()
		shown.Stop()
		check.Equal(t, "what ran", strings.Join(ran, ", "), "shown")
	})
	t.Run("may end while the group opens", func(t *testing.T) {
		for range 100 {
			g, s := new(Group), NewStream()
			s.Start(g, func(context.Context) { <-s.Live.Done() })
			go g.Open(t.Context())
			s.Stop()
			g.Close()
		}
	})
}

func TestAStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, shown := following(t)
		s.Set("a")
		s.End()
		time.Sleep(time.Hour)
		check.Equal(t, "texts shown after the end", len(*shown), 0)
		g.Close()
		late := NewStream()
		late.Start(g, func(context.Context) { t.Error("it runs in a closed group") })
		late.Stop()
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, g := NewStream(), &Group{}
		g.Open(ctx)
		s.Start(g, func(context.Context) { <-s.Live.Done() })
		cancel() // as when the connector closes
		g.Close()
	})
}
