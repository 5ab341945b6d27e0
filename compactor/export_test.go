package compactor

// Speak is somebody who speaks to the bot.
func (c *Compactor) Speak() {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	c.h.spoken = true
}
