// Texts of messages: replies that are cut, of which nothing is lost, and files that are read.

package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"cairn/channel"
	"cairn/testkit/check"
	"cairn/testkit/wordstest"
)

func TestSplit(t *testing.T) {
	para := strings.Repeat("word ", 160) // 800 characters
	code := strings.Repeat("    indented(line)\n", 150)
	for name, c := range map[string][]string{ // the text, and how its pieces begin and end, with … between
		"a short text stays whole":              {"hello\n\n  world", "hello…world"},
		"nothing is an empty piece":             {" \n\t", "…"},
		"between paragraphs":                    {"A" + para + "\n\nB" + para + "\n\nC" + para, "A…word", "C…word"},
		"else between lines":                    {"A" + para + "\nB" + para + "\nC" + para, "A…word", "C…word"},
		"else between words":                    {"A" + strings.Repeat("word ", 500) + "Z", "A…word", "w…Z"},
		"or between sentences":                  {strings.Repeat("一二三四五六七八九十。", 300), "一…。", "一…。"},
		"else where it must":                    {strings.Repeat("x", 4001), "x…x", "x…x", "x…x"},
		"a code block is opened again":          {"```go\n" + code + "```\nafter", "```go…```", "```go…after"},
		"with its own number of marks":          {"````md\n" + strings.Repeat("```\n", 700) + "````", "````md…````", "````md…````"},
		"and not started at the end of a piece": {strings.Repeat("words ", 300) + "\n```go\n" + code[:900] + "```", "words…words", "```go…```"},
		"a line of code that is too long":       {"```\n" + strings.Repeat("y", 2500) + "\n```", "```…```", "```…```"},
		"indentation stays":                     {"    four spaces", "    …spaces"},
		"letters of two units are not parted":   {strings.Repeat("😀", 1500), "😀…😀", "😀…😀"},
		"nor those of many characters":          {"a" + strings.Repeat("👩🏽‍🚀", 600), "a…👩🏽‍🚀", "👩🏽‍🚀…👩🏽‍🚀", "👩🏽‍🚀…👩🏽‍🚀"},
		"unless it is but one":                  {"e" + strings.Repeat("\u0301", 4000), "e…\u0301", "\u0301…\u0301", "\u0301…\u0301"},
		"marks within a line open nothing":      {"```inline``` " + strings.Repeat("z ", 1200), "```inline```…z", "z…z"},
		"space without end is no piece":         {"a" + strings.Repeat("\n", 5000) + "b", "a…a", "b…b"},
		"a long line of marks opens nothing":    {strings.Repeat("`", 2500), "```…```", "```…```"},
		"a long line after marks is code":       {"```" + strings.Repeat("y ", 1200), "```y…```", "```y…y"},
		"a first line that fills a message":     {"```go " + strings.Repeat("title ", 400) + "\n" + code[:900] + "```\nafter", "```go…```", "```go…after"},
		"a long description of code is cut":     {"```go title=\"internal/platform/split_test.go\" lines\n" + code + "```\n" + para, "```go title…```", "```go…word"},
		"a code block that is never closed is":  {"```py\n" + strings.Repeat("pass\n", 500), "```py…```", "```py…pass"},
	} {
		got := pieces(c[0])
		want := c[1:]
		check.Len(t, name+": pieces", got, len(want))
		for i, p := range got {
			begin, end, _ := strings.Cut(want[i], "…")
			check.That(t, strings.HasPrefix(p, begin) && strings.HasSuffix(p, end), "%s: piece %d is %q, want %s", name, i, p, want[i])
		}
		err := checkPieces(discord, c[0])
		check.That(t, err == nil, "%s: %v", name, err)
	}
}

func TestWhatIsCutInACodeBlockLosesNoSpace(t *testing.T) {
	var lines []string
	for i := range 400 {
		lines = append(lines, strings.Repeat(" ", i%9)+fmt.Sprint("line ", i))
	}
	var got []string
	for i, p := range pieces("```\n" + strings.Join(lines, "\n") + "\n```") {
		all := strings.Split(p, "\n")
		check.That(t, all[0] == "```" && all[len(all)-1] == "```", "piece %d is no code block: %q", i, p)
		got = append(got, all[1:len(all)-1]...)
	}
	check.That(t, slices.Equal(got, lines), "the pieces have %d lines, want these %d", len(got), len(lines))
}

var discord = Splitter{Limit: 2000}

// pieces are those of a text as people see them.
func pieces(text string) (all []string) {
	for _, p := range discord.Texts(text, "") {
		all = append(all, strings.TrimRight(p, " \t\n"))
	}
	return all
}

func checkPieces(s Splitter, text string) error {
	pieces := s.Texts(text, "")
	for i, piece := range pieces {
		switch {
		case s.CostOf(piece) > s.Limit:
			return fmt.Errorf("piece %d costs %d of %d", i, s.CostOf(piece), s.Limit)
		case strings.TrimSpace(piece) == "" && (len(pieces) > 1 || strings.TrimSpace(text) != ""):
			return fmt.Errorf("piece %d is empty", i)
		}
	}
	if fit := s.Fit(text); s.CostOf(fit) > s.Limit {
		return fmt.Errorf("what is shortened costs %d of %d", s.CostOf(fit), s.Limit)
	}
	want := strings.ToValidUTF8(text, "\uFFFD")
	if a, b := visible(strings.Join(pieces, "\n")), visible(want); a != b && hasContent(want, "") && !s.cutsMarks(want) {
		return fmt.Errorf("the pieces are not the text: %q, not %q", a, b)
	}
	return nil
}

// cutsMarks reports whether a line with the marks of a code block is so long that it may be cut:
// what remains of it may then be nothing but such marks, and be left out.
func (s Splitter) cutsMarks(text string) bool {
	for line := range strings.Lines(text) {
		if s.CostOf(line) > s.Limit/4 && (strings.Contains(line, "```") || strings.Contains(line, "~~~")) {
			return true
		}
	}
	return false
}

// visible is a text without space and marks, and without the begins and ends of code blocks, of which an empty one may be left out.
func visible(text string) string {
	var kept strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		after := fenceAfter(line, fence)
		if after != fence {
			fence = after
			continue
		}
		kept.WriteString(allMarks.ReplaceAllString(strings.Join(strings.Fields(line), ""), ""))
	}
	return kept.String()
}

func escapedCost(r rune) int {
	switch {
	case r == '&':
		return 5
	case r == '<' || r == '>':
		return 4
	case r > 0xffff:
		return 2
	}
	return 1
}

func FuzzSplit(f *testing.F) {
	for _, text := range []string{
		"", " ", "a", "```", strings.Repeat("word ", 900), strings.Repeat("x", 5000), "```go\n" + strings.Repeat("line()\n", 600) + "```\nafter",
		strings.Repeat("😀", 2500), "\xff" + strings.Repeat("é\n", 1500), strings.Repeat("```\n", 900), strings.Repeat(" ", 3000) + "x",
		"~~~~\na\n~~~\nb\n~~~~ \n" + strings.Repeat("<!here> ", 40), "````\n```\n" + strings.Repeat("y", 400),
		"``````````&&&&&&&&&&&&&&&\n" + strings.Repeat("&", 500),
	} {
		f.Add(text, 1, 2000)
		f.Add(text, 2, 300)
		f.Add("> **"+text+"** *a **b** `c` [d](https://e.dev)* ||f|| _g_", 9, 300)
	}
	for _, text := range wordstest.Texts() {
		f.Add(text, 40, 300)
	}
	f.Fuzz(func(t *testing.T, text string, times, limit int) {
		text = strings.Repeat(text, min(max(times, 1), 1+20_000/(len(text)+1)))
		limit = max(300, limit%5000)
		for _, s := range []Splitter{{Limit: limit, Spoilers: true}, {Limit: limit, Cost: escapedCost}} {
			check.NoError(t, checkPieces(s, text))
		}
	})
}

func TestThePicturesAndTextsOfOneMessageAreBounded(t *testing.T) {
	long := channel.Attachment{Name: "a.txt", Type: "text/plain", URL: "text"}
	all := []channel.Attachment{long, long, {Name: "gone.txt", URL: "gone"}, {Name: "b.zip", Type: "application/zip", URL: "zip"}}
	all = append(all, slices.Repeat([]channel.Attachment{{Name: "p.png", Type: "image/png", URL: "picture"}}, MaxPictures+1)...)
	fetched := map[string]int{}
	f := Files{Tokens: 60, Pictures: true, Fetch: func(ctx context.Context, url string) ([]byte, error) {
		fetched[url]++
		switch {
		case url == "gone":
			return nil, errors.New("no answer")
		case url == "text" && ctx.Value(limitKey{}) == int64(MaxText):
			return []byte(strings.Repeat("alpha ", 500)), nil
		}
		return []byte("\x89PNG\r\n\x1a\n"), nil
	}}
	got, err := f.Complete(t.Context(), all)
	check.ErrorContains(t, "the error", err, "fetch gone.txt")
	check.Equal(t, "fetches", fetched["text"]*100+fetched["picture"]*10+fetched["zip"], 200+10*MaxPictures)
	pictures := 0
	for _, a := range got {
		if len(a.Data) > 0 {
			pictures++
		}
		check.That(t, len(a.Text) <= 600 && (a.URL != "text" || a.Text != ""), "%s has %d characters, which is no third of 60 tokens", a.Name, len(a.Text))
	}
	check.Equal(t, "pictures", pictures, MaxPictures)
	check.That(t, !(Files{}).Wanted(all[0]) && !(Files{}).Wanted(all[len(all)-1]), "something is fetched without a budget")
}

func TestAFileIsTextByItsNameWhateverItsMediaType(t *testing.T) {
	for want, files := range map[bool]map[string]string{
		true:  {"door.ts": "video/mp2t", "a.py": "application/x-python-code", "main.rs": "application/rls-services+xml", "notes": "text/plain; charset=utf-8"},
		false: {"film.mp4": "video/mp4", "notes.zip": "application/zip", "log.md": "image/png"},
	} {
		for name, kind := range files {
			check.Equal(t, name+" is text", isText(channel.Attachment{Type: kind, Name: name}), want)
		}
	}
}

func TestTextFilesAreReadInTheEncodingsOfWindows(t *testing.T) {
	const text = "Größe;Menge;Straße\nfür die Küche über drei Türen;4;Müller\n"
	read := func(data []byte) string {
		f := Files{Tokens: 500, Fetch: func(context.Context, string) ([]byte, error) { return data, nil }}
		return check.Must(f.Complete(t.Context(), []channel.Attachment{{Name: "a.csv", URL: "x"}}))(t)[0].Text
	}
	for name, e := range map[string]encoding.Encoding{
		"UTF-8": unicode.UTF8, "UTF-8 with a byte order mark": unicode.UTF8BOM, "Western Europe": charmap.Windows1252,
		"PowerShell's UTF-16": unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "big-endian UTF-16": unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
	} {
		check.Equal(t, name, read(check.Must(e.NewEncoder().Bytes([]byte(text)))(t)), text)
	}
	check.Equal(t, "an archive is not text", read([]byte("PK\x03\x04\x00\x00\xff\xfe\x80")), "")
	check.Equal(t, "noise is not text", read([]byte("\x00\x01\xfe\xff\x00")), "")
	check.Equal(t, "UTF-8 with a flaw", read([]byte(text+"a broken \xe4, and the beginning of \xe2\x82")), text+"a broken , and the beginning of ")
}

func FuzzDecodeText(f *testing.F) {
	for _, text := range wordstest.Texts() {
		f.Add([]byte(text))
	}
	f.Add([]byte("\xff\xfeH\x00i\x00"))
	f.Add([]byte("Stra\xdfe"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text := decodeText(data)
		if !utf8.ValidString(text) || utf8.Valid(data) && text != strings.TrimPrefix(string(data), "\ufeff") {
			t.Fatalf("%q is read as %q", data, text)
		}
	})
}
