package channel

// What the operator of the bot does from outside of any conversation, over HTTP. Nobody asks for
// rights here: who may call these owns the bot.

// Used returns how many tokens the next request of an open conversation takes, the reply's
// reserve included, and the window; ok is false if the conversation is not open. It does not block.
func (h *Hub) Used(name string) (used, window int, ok bool) {
	c, err := h.find(name, nil)
	if c == nil || err != nil {
		return 0, 0, false
	}
	defer h.release(c)
	gauge := c.gauge.Load()
	if gauge == nil { // it is being opened
		return 0, 0, false
	}
	g := (*gauge)()
	return g.Used, g.Window, true
}
