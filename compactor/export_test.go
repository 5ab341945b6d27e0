package compactor

import "cairn/llm"

// Speak is somebody who speaks to the bot.
func (c *Compactor) Speak() {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	c.h.spoken = true
}

// Spoken tells whether somebody spoke to the bot since a summary landed.
func (c *Compactor) Spoken() bool { return c.h.snapshot().spoken }

// Sight is the view as it stands. Unlike Request it begins nothing that may change it.
func (c *Compactor) Sight() []llm.Message {
	return new(rendering).next(c.o.System, c.h.snapshot())
}

// Filled waits until no placeholder is being filled, whatever the worker does.
func (c *Compactor) Filled() {
	c.mu.Lock()
	filling, filled := c.filling, c.filled
	c.mu.Unlock()
	if filling != nil {
		<-filled
	}
}
