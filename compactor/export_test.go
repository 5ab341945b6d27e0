package compactor

// Speak is somebody who speaks to the bot.
func (c *Compactor) Speak() {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	c.h.spoken = true
}

// Spoken tells whether somebody spoke to the bot since a summary landed.
func (c *Compactor) Spoken() bool { return c.h.snapshot().spoken }
