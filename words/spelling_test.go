package words

import (
	"slices"
	"strings"
	"testing"

	"cairn/internal/check"
)

func TestRespell(t *testing.T) {
	for _, c := range []struct{ claim, typo, meant string }{
		{"two letters swapped", "adpotion", "adoption"},
		{"a letter missing", "harbur", "harbour"},
		{"a letter too many", "harrbour", "harbour"},
		{"a wrong letter", "hatbour", "harbour"},
		{"the first letter", "garbour", "harbour"},
		{"the last letter", "harbout", "harbour"},
		{"in an ending", "paintign", "painting"},
		{"in a form no rule explains", "cihldren", "children"},
		{"Russian", "сбоака", "собака"},
		{"Ukrainian", "вулця", "вулиця"},
		{"Greek", "αδερφή", "αδελφή"},
		{"Hebrew", "ירושלם", "ירושלים"},
		{"Arabic, as it is often typed", "القاهره", "القاهرة"},
	} {
		t.Run(c.claim, func(t *testing.T) {
			if want := Terms(c.meant)[0]; !slices.Contains(Respell(Fold(c.typo)), want) {
				t.Errorf("%q: not corrected to %q", c.typo, want)
			}
		})
	}
	if got := Respell("aple"); got[0] != stem("pale") {
		t.Errorf("got %q, want the likeliest first", got[:3])
	}
	for _, word := range []string{"", "tea", "猫猫猫猫", "1234", "x100y", strings.Repeat("a", 100), "\xff\xff\xff\xff"} {
		if got := Respell(word); got != nil {
			t.Errorf("%.20q: %q", word, got)
		}
	}
	terms := Respell("harbour")
	slices.Sort(terms)
	check.That(t, len(slices.Compact(terms)) == len(terms) && !slices.Contains(terms, stem("harbour")), "other terms")
}
