package privacy

// Purged returns the names of the tables that a purge empties.
func Purged() (names []string) {
	for _, table := range purged {
		names = append(names, string(table))
	}
	return names
}
