package wordstest

import (
	"testing"
	"unicode/utf8"
)

func TestTheCorporaAreWhole(t *testing.T) {
	for what, all := range map[string][]Trick{"tricks": Tricks(), "forgeries": Forgeries()} {
		names, texts, invalid := map[string]bool{}, map[string]bool{}, 0
		for _, one := range all {
			if one.Name == "" || one.Text == "" || one.Why == "" || names[one.Name] || texts[one.Text] {
				t.Errorf("%s: %q is empty somewhere, or there twice", what, one.Name)
			}
			names[one.Name], texts[one.Text] = true, true
			if !utf8.ValidString(one.Text) {
				invalid++
			}
		}
		if len(all) < 30 || what == "tricks" && invalid < 8 {
			t.Errorf("%d %s, %d of them no UTF-8", len(all), what, invalid)
		}
	}
}
