package compactor

// ahead returns the view as it will be once everything prepared is applied. Plans are made on it, so that
// nothing is summarized twice.
func (c *Compactor) ahead() view {
	v := c.h.view
	v.View, c.lookahead = v.Ahead(c.prepared, c.lookahead)
	return v
}

func (v view) with(rows []Summary) view {
	v.View = v.View.With(rows)
	return v
}
