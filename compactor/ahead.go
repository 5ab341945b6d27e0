package compactor

// prepared returns the summaries that are finished and not applied, in the order of applying.
func (c *Compactor) prepared() []Summary { return c.view.state.Prepared }

func (c *Compactor) setPrepared(rows []Summary) { c.view.state = c.view.state.WithPrepared(rows) }

// ahead returns the view as it will be once everything prepared is applied. Plans are made on it, so that
// nothing is summarized twice.
func (c *Compactor) ahead() view {
	v := c.view
	v.View, c.lookahead = v.Ahead(c.prepared(), c.lookahead)
	return v
}
