package facts

// vague returns the times that words such as "next week" and "in three days" may mean.
func (r *reader) vague() (all []Date) {
	for i := range r.tokens {
		value, ok := r.has(i, isUnit)
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

// counts reports whether a number stands before a token: what a number of years means is known better.
func (r *reader) counts(i int) bool {
	before := r.before(i)
	_, number := r.has(before, isNumber)
	return i > 0 && (number || r.token(before).digits)
}
