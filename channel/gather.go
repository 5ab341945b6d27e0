package channel

import (
	"context"
	"errors"
	"sync"
	"time"

	"cairn/compactor"
)

// What a conversation asks its door for before it takes messages up: what it
// missed, what was said before it came, and what the events left out.

const (
	earlierMessages  = 100              // read as context when the bot is first addressed
	historyPage      = 100              // messages asked for at once
	completeTimeout  = 20 * time.Second // for one message
	completeAtOnce   = 8                // messages
	historyTimeout   = 2 * time.Minute  // for one page, waiting for rate limits included
	historyRetry     = 30 * time.Second
	completeAttempts = 2
)

// gather does so. What fails is logged and costs only what could not be had; a gap
// that could not be read is tried again later.
func (c *conversation) gather(ctx context.Context) error {
	if historian, ok := c.door.(Historian); ok {
		if err := c.fillGap(ctx, historian); err != nil {
			return err
		}
		if err := c.readBack(ctx, historian); err != nil {
			return err
		}
	}
	if completer, ok := c.door.(Completer); ok {
		return c.complete(ctx, completer)
	}
	return nil
}

// fillGap reads what was said while the bot was away.
func (c *conversation) fillGap(ctx context.Context, h Historian) error {
	after, open, err := c.records.Gap(ctx)
	if err != nil || !open || time.Now().Before(c.gapRest) {
		return err
	}
	if after == "" { // nothing was ever said here: there is no place to read on from
		return c.records.CloseGap(ctx, after)
	}
	for more := true; more; {
		var said []Inbound
		last := after
		said, last, more, err = c.history(ctx, h, after, "")
		switch {
		case errors.Is(err, ErrGone):
			c.log.Info("messages missed here cannot be read", "error", err)
			return c.records.CloseGap(ctx, after)
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			c.log.Warn("messages missed while away could not be read yet; it is tried again", "error", err)
			c.rest()
			return nil
		}
		if last == "" {
			last = after
		}
		var heard []Inbound // said is the door's
		for _, m := range said {
			if !c.hub.hears(c.name, m) {
				continue
			}
			if c.hub.admit(c, &m); time.Since(m.Time) > c.hub.o.CatchUp {
				m.Addressed, m.Thread = false, false // too old to be answered
			}
			heard = append(heard, m)
		}
		if _, err := c.records.FillGap(ctx, heard, last, !more); err != nil {
			return err
		}
		after = last
	}
	return nil
}

// rest puts the gap off for a while.
func (c *conversation) rest() {
	c.gapRest = time.Now().Add(historyRetry)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.left && c.retryGap == nil {
		c.retryGap = time.AfterFunc(historyRetry, func() {
			c.mu.Lock()
			c.retryGap = nil
			c.mu.Unlock()
			c.wake()
		})
	}
}

func (c *conversation) history(ctx context.Context, h Historian, after, before string) ([]Inbound, string, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, historyTimeout)
	defer cancel()
	return h.History(ctx, c.name, after, before, historyPage)
}

// readBack reads what was said before the bot was first addressed here, so that it
// knows what people talk about.
func (c *conversation) readBack(ctx context.Context, h Historian) error {
	if c.hasReadBack {
		return nil
	}
	done, first, err := c.records.ReadBack(ctx)
	if err != nil || done || first == "" {
		c.hasReadBack = done
		return err
	}
	said, _, _, err := c.history(ctx, h, "", first)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !errors.Is(err, ErrGone) {
		c.log.Warn("what was said before could not be read", "error", err)
		return nil // at the next message somebody addresses to the bot
	}
	if completer, ok := c.door.(Completer); ok {
		said = c.completed(ctx, completer, said)
	}
	added, err := c.records.Backfill(ctx, c.fitting(said))
	if err != nil {
		return err
	}
	c.hasReadBack = true
	if len(added) > 0 {
		c.engine.History().Append(added...)
		c.engine.History().Stored()
		c.engine.Check(ctx)
	}
	return nil
}

// fitting returns the newest messages that fit a burst, without those that are not
// heard.
func (c *conversation) fitting(said []Inbound) []Inbound {
	budget := compactor.BurstBudget(c.window.last())
	var fit []Inbound
	for i := len(said) - 1; i >= 0; i-- {
		m := said[i]
		if !c.hub.hears(c.name, m) {
			continue
		}
		budget -= compactor.TokensOf(compactor.Message{Role: "user", Author: m.Author, Text: m.Text, Attachments: m.Attachments, Quote: m.Quote, Time: m.Time})
		if budget < 0 {
			break
		}
		m.Addressed, m.Thread = false, false
		fit = append(fit, m)
	}
	for i, j := 0, len(fit)-1; i < j; i, j = i+1, j-1 {
		fit[i], fit[j] = fit[j], fit[i]
	}
	return fit
}

// complete has the door fill in what the waiting messages lack.
func (c *conversation) complete(ctx context.Context, completer Completer) error {
	for {
		waiting, err := c.records.Incomplete(ctx)
		if err != nil || len(waiting) == 0 {
			return err
		}
		for i, m := range c.completed(ctx, completer, waiting) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := c.records.Complete(ctx, waiting[i], m); err != nil {
				return err
			}
		}
	}
}

// completed asks the door about each message, several at once.
func (c *conversation) completed(ctx context.Context, completer Completer, messages []Inbound) []Inbound {
	done := make([]Inbound, len(messages))
	slots := make(chan struct{}, completeAtOnce)
	var all sync.WaitGroup
	for i, m := range messages {
		if !m.Incomplete {
			done[i] = m
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			done[i] = c.completeOne(ctx, completer, m)
			<-slots
		})
	}
	all.Wait()
	return done
}

func (c *conversation) completeOne(ctx context.Context, completer Completer, m Inbound) Inbound {
	var err error
	for attempt := range completeAttempts {
		if attempt > 0 {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return m
			}
		}
		limited, cancel := context.WithTimeout(ctx, completeTimeout)
		var full Inbound
		full, err = completer.Complete(limited, c.name, m)
		cancel()
		if err == nil || attempt == completeAttempts-1 && full.ID == m.ID {
			m = full
		}
		if err == nil {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		c.log.Warn("a message is taken up without all that belongs to it", "message", m.ID, "error", err)
	}
	m.Incomplete = false
	return c.blindfolded(m)
}
