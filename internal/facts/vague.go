package facts

// vague returns the times that words such as "next week" and "in three days" may mean.
func (r *dateReader) vague() (all []Date) {
	for i := range r.text.tokens {
		value, ok := r.text.has(i, isUnit)
		if !ok {
			continue
		}
		soft := Date{Weekday: -1, Soft: true}
		switch Unit(value) {
		case Weeks:
			soft.From = -14
			soft.To = 22
		case weekend:
			soft.From = -8
			soft.To = 15
		case Months:
			soft.From = -62
			soft.To = 93
		case Years:
			if r.counts(i) {
				continue
			}
			soft.From = -730
			soft.To = 731
		default:
			continue
		}
		all = append(all, soft)
	}
	return all
}

// counts reports whether a number is before a token: what a number of years means is known better.
func (r *dateReader) counts(i int) bool {
	before := r.text.before(i)
	_, number := r.text.has(before, isNumber)
	return i > 0 && (number || r.text.token(before).digits)
}
