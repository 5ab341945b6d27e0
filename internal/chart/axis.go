package chart

// axis draws the numbers of messages under the last panel.
func (d *drawing) axis(s scale) {
	for _, at := range steps(float64(s.last-s.first), 8) {
		if at == float64(int64(at)) {
			d.words(s.x(s.first+int64(at)), s.top+s.high+26, "chart-tick", "middle", Short(float64(s.first)+at))
		}
	}
}
