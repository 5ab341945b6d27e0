package compactor

// Meant asks whether a stray word was meant to be one of those that are known; "" if
// it is like none of them.
func Meant(word string, known []string) string {
	best, least := "", 4
	for _, k := range known {
		if n := edits(word, k); n < least && n <= len(k)/2 {
			best, least = k, n
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + best + "?"
}

// edits counts the letters to change, add or drop to make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}
