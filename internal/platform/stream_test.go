package platform

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"
)

// following is a stream in an open group, and the texts that it showed. Each is shown again after
// the next of waits; a negative one means that there is no use in that.
func following(t *testing.T, waits ...time.Duration) (s *Stream, g *Group, shown *[]string) {
	g, shown = NewGroup(), new([]string)
	g.Open(t.Context())
	s = NewStream(g, nil, func(context.Context) {
		s.Follow(time.Second, func(text string) (time.Duration, bool) {
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
		"and the newest, if later": {[]time.Duration{time.Minute}, []string{"b", "c"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, g, shown := following(t, c.waits...)
			s.Show("a")
			s.Show("b")
			time.Sleep(2 * time.Second)
			s.Show("c")
			time.Sleep(time.Hour)
			s.Stop()
			s.Show("d")
			g.Close()
			check.EqualAll(t, claim+": it showed", *shown, c.want)
		})
	}
}

func TestAStreamThatBeginsBeforeItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup()
		var ran []string
		begin := func(name string) *Stream {
			s := NewStream(g, func(context.Context) { ran = append(ran, name) }, nil)
			s.Working()
			return s
		}
		shown := begin("shown")
		begin("sent before").Stop()
		synctest.Wait()
		check.Len(t, "what ran before", ran, 0)
		g.Open(t.Context())
		synctest.Wait()
		g.Close()
		shown.Stop()
		check.Equal(t, "order", strings.Join(ran, ", "), "shown")
	})
}

func TestAStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, shown := following(t)
		s.Show("a")
		g.Close() // as when the connector closes
		time.Sleep(time.Hour)
		check.Equal(t, "texts shown after the end", len(*shown), 0)
		late := NewStream(g, func(context.Context) { t.Error("it runs in a closed group") }, nil)
		late.Working()
		late.Stop()
	})
}
