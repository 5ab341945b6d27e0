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
			soft.From, soft.To = -14, 22
		case weekend:
			soft.From, soft.To = -8, 15
		case Months:
			soft.From, soft.To = -62, 93
		case Years:
			if r.counts(i) {
				continue
			}
			soft.From, soft.To = -730, 731
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
