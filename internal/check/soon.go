package check

import "time"

// Soon waits until a condition holds, for at most a minute, and reports whether it does.
func Soon(holds func() bool) bool {
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
