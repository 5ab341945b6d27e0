package terminal

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRows(t *testing.T) {
	for _, test := range []struct{ name, text, rows, rest string }{
		{"nothing", "", "", ""},
		{"less than a row waits", "abc de", "", "abc de"},
		{"a full row waits for what follows", "abcdefgh", "", "abcdefgh"},
		{"it ends at the last space that fits", "abc defgh", "abc\n", "defgh"},
		{"it ends at a space right behind it", "abcdefgh i", "abcdefgh\n", "i"},
		{"a word longer than a row is cut", "abcdefghij", "abcdefgh\n", "ij"},
		{"a newline ends a row", "a\n\nb", "a\n\n", "b"},
		{"letters count, not bytes", "éééé éééé", "éééé\n", "éééé"},
	} {
		rows, used := full(test.text, 8)
		if rows != test.rows || test.text[used:] != test.rest {
			t.Errorf("%s: got %q and %q", test.name, rows, test.text[used:])
		}
	}
	t.Run("rows lose nothing but the space they end at, however the text arrives", rapid.MakeCheck(func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab é界\n"))).Draw(t, "text")
		width := rapid.IntRange(1, 9).Draw(t, "width")
		shown, used := "", 0
		for i := range text {
			rows, n := full(text[used:max(i, used)], width)
			shown, used = shown+rows, used+n
		}
		shown += text[used:]
		bare := strings.NewReplacer(" ", "", "\n", "")
		if bare.Replace(shown) != bare.Replace(text) {
			t.Fatalf("%q became %q", text, shown)
		}
		for row := range strings.SplitSeq(shown[:max(strings.LastIndex(shown, "\n"), 0)], "\n") {
			if len([]rune(row)) > width {
				t.Fatalf("the row %q is wider than %d", row, width)
			}
		}
	}))
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc é界":                         "a\tb\nc é界",
		"\x1b[2Jred\x07\r \u009b31m\x7f":     "[2Jred 31m",
		"a\u202eb\u202cc\u2066d\u2069\u200e": "abcd\u200e",
		"\xff\x9b2J":                         "\ufffd\ufffd2J",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestTabsReachTheirStops(t *testing.T) {
	if got, want := printable("func f() {\n\treturn\t1\té\tx\n\t\tdeep"), "func f() {\n        return  1       é       x\n                deep"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	h, err := openHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxHistory + 5 {
		line := "line " + strconv.Itoa(i)
		h.Add(line)
		h.Add(line) // says nothing new
		h.Add("  ")
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := openHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Len() != maxHistory || again.At(0) != "line 1004" || again.At(maxHistory-1) != "line 5" {
		t.Errorf("%d lines, newest %q, oldest %q", again.Len(), again.At(0), again.At(again.Len()-1))
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), "\n") != maxHistory {
		t.Errorf("the file has %d lines, %v", strings.Count(string(text), "\n"), err)
	}
}
