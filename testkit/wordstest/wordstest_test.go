package wordstest

import (
	"testing"
	"unicode/utf8"
)

func TestTheCorporaAreWhole(t *testing.T) {
	names := map[string]bool{}
	texts := map[string]bool{}
	invalid := 0
	for _, one := range append(Tricks(), Forgeries()...) {
		if one.Name == "" || one.Text == "" || one.Why == "" || names[one.Name] || texts[one.Text] {
			t.Errorf("%q is empty somewhere, or there twice", one.Name)
		}
		names[one.Name] = true
		texts[one.Text] = true
		if !utf8.ValidString(one.Text) {
			invalid++
		}
	}
	if len(Tricks()) < 30 || len(Forgeries()) < 30 || invalid < 8 {
		t.Errorf("%d tricks, %d forgeries, %d of them no UTF-8", len(Tricks()), len(Forgeries()), invalid)
	}
}
