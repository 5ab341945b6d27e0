package main

import (
	"bytes"
	"testing"
	"time"

	"cairn/channel"
	"cairn/testkit/check"
)

func TestImportProgress(t *testing.T) {
	shows := func(terminal bool) (out *bytes.Buffer, show func(after time.Duration, s channel.ImportProgress), p *importProgress) {
		out = &bytes.Buffer{}
		now := time.Unix(1000, 0)
		p = &importProgress{progress: progress{out: out, terminal: terminal, now: func() time.Time { return now }}}
		return out, func(after time.Duration, s channel.ImportProgress) {
			now = now.Add(after)
			p.show(s)
		}, p
	}
	stored := func(n int) channel.ImportProgress { return channel.ImportProgress{Total: 4000, Stored: n} }
	left := func(n int) channel.ImportProgress {
		return channel.ImportProgress{Total: 4000, Stored: 4000, Unread: n}
	}
	t.Run("at a terminal one line shows what is done, how many per second, and the rest", func(t *testing.T) {
		out, show, p := shows(true)
		show(0, stored(1000))
		show(time.Millisecond, stored(2000)) // too soon to draw it again
		show(time.Second, stored(3000))
		show(time.Second, left(3000)) // a thousand were known and summarized
		show(2*time.Second, left(2000))
		p.done()
		const again = "\r\x1b[K"
		check.Equal(t, "output", out.String(), again+"1000 of 4000 messages stored"+again+"3000 of 4000 messages stored, 1998 per second, 1s left"+
			again+"0 of 3000 messages summarized"+again+"1000 of 3000 messages summarized, 500 per second, 4s left"+again)
		check.Contains(t, "what a signal says", p.stopped("past"), "all messages are stored in past and can be searched; 2000 are not summarized yet")
	})
	t.Run("elsewhere a line is written every ten seconds", func(t *testing.T) {
		out, show, p := shows(false)
		show(0, stored(1000))
		show(5*time.Second, stored(1500))
		show(5*time.Second, stored(2000))
		p.done()
		check.Equal(t, "output", out.String(), "2000 of 4000 messages stored, 100 per second, 20s left\n")
		check.Contains(t, "what a signal says", p.stopped("past"), "2000 of 4000 messages are stored in past and can be searched; run the same command again to continue")
	})
}
