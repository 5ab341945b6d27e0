package memory

// part is what a part adds to the score of what was found.
func part(f Found, name string) float64 {
	for _, p := range f.Parts {
		if p.Name == name {
			return p.Value
		}
	}
	return 0
}
