package facts

import (
	"testing"

	"cairn/testkit/check"
)

// A number with a word such as "about" may be a more exact one, and no exact number may be a rounded one.
func TestRoundedNumbers(t *testing.T) {
	for _, test := range []struct {
		rounded, exact string
		same           bool
	}{
		{"about 1,600 EUR", "1,625.50 EUR", true},
		{"around £12k", "£12,340", true},
		{"just over 7", "7.4", true},
		{"nearly 3 weeks", "20 days", true},
		{"around 15:00", "14:50", true},
		{"around 15:00", "14:10", false},
		{"1,600 EUR", "1,625.50 EUR", false},
		{"1,625.50 EUR", "about 1,600 EUR", false},
		{"about 1,650 EUR", "about 1,600 EUR", false},
		{"about 80 %", "86 bytes", false},
		{"about 3,000", "1,625", false},
		{"some 20 minutes", "27 minutes", false},
	} {
		a := Read(test.rounded, []string{"en"}).Numbers
		b := Read(test.exact, []string{"en"}).Numbers
		check.Require(t, len(a) == 1 && len(b) == 1, "%s, %s: got %+v, %+v", test.rounded, test.exact, a, b)
		check.Equal(t, test.rounded+" for "+test.exact, Same(a[0], b[0]), test.same)
	}
}
