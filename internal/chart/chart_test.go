package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"cairn/internal/check"
)

// hostile texts would break out of an attribute, an element or the file.
var hostile = []string{
	`</title><script>alert(1)</script>`, `" onload="alert(1)`, `]]><x>`, "a\x00b\x1b[31m", "\xff\xfe", "\u202Eevil\u2066", `&lt;`, "<!--", `';--`, "\uFFFE",
}

func sample() Sawtooth {
	w := Sawtooth{Title: "garden", Desc: "two variants"}
	for _, name := range []string{"in force", "background_threshold = 0.6"} {
		p := Panel{Name: name, Window: 64_000, Levels: []Level{
			{"prepare", "prepare", 38_400}, {"background", "background", 51_200}, {"aggressive", "aggressive", 54_400}, {"emergency", "emergency", 60_800},
		}}
		used := 4000
		for i := range int64(5000) {
			if used += 137; used > 51_200 {
				used = 20_000
				p.Marks = append(p.Marks, Mark{i, []string{"background", "aggressive", "emergency", "manual"}[len(p.Marks)%4], "background: #1 to #80"})
			}
			p.Points = append(p.Points, Point{At: i, Used: used, Head: min(used, 4000+int(i)), Said: 4000 + 137*int(i)})
		}
		w.Panels = append(w.Panels, p)
	}
	return w
}

func composition() Composition {
	return Composition{Title: "Next request", Total: 64_000, Parts: []Part{{"system and tools", 3100}, {"summaries", 9000}, {"verbatim", 21_000}, {"turn context", 900}, {"reserve", 4000}}}
}

// elements returns the elements of an SVG, and fails if it is not well-formed.
func elements(t *testing.T, svg string) (all []xml.StartElement) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		check.Require(t, err == nil, "not well-formed: %v", err)
		if e, is := token.(xml.StartElement); is {
			all = append(all, e)
		}
	}
}

func TestEveryChart(t *testing.T) {
	for name, draw := range map[string]func(Options) string{"sawtooth": sample().SVG, "composition": composition().SVG} {
		t.Run(name, func(t *testing.T) {
			if dir := os.Getenv("CHARTS"); dir != "" { // to look at them
				check.NoError(t, os.WriteFile(dir+"/"+name+".svg", []byte(draw(Options{Standalone: true})), 0o600))
			}
			embedded := draw(Options{ID: "one"})
			for _, e := range elements(t, embedded) {
				for _, a := range e.Attr {
					wrong := a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") || a.Value == "NaN"
					check.That(t, !wrong, "<%s> has %s=%q", e.Name.Local, a.Name.Local, a.Value)
				}
				check.That(t, e.Name.Local != "style" && e.Name.Local != "script", "an embedded chart has <%s>", e.Name.Local)
			}
			check.Contains(t, "title for screen readers", embedded, `role="img" aria-labelledby="one-title one-desc"`, `<title id="one-title">`)
			check.Equal(t, "second rendering", embedded, draw(Options{ID: "one"}))
			check.Contains(t, "a file of its own has no style", draw(Options{Standalone: true}), "prefers-color-scheme: dark")
		})
	}
}

func TestALongConversationStaysSmall(t *testing.T) {
	w := Sawtooth{Panels: []Panel{{Window: 100}}}
	p := &w.Panels[0]
	for i := range int64(100_000) {
		p.Points = append(p.Points, Point{At: i, Used: int(i % 90)})
		p.Marks = append(p.Marks, Mark{i, "background", "tip"})
	}
	p.Points[77_777].Used = 99 // one tooth
	svg := w.SVG(Options{})
	check.That(t, len(svg) <= 150_000, "%d bytes", len(svg))
	s := w.scale()
	s.high = aloneHigh
	highest := 0
	for _, pt := range thin(p.Points, s) {
		highest = max(highest, pt.Used)
	}
	check.Equal(t, "highest remaining point", highest, 99)
}

func TestPanelsHaveOneScale(t *testing.T) {
	w := Sawtooth{Panels: []Panel{
		{Points: []Point{{At: 1, Used: 10}, {At: 2, Used: 20}}}, {Points: []Point{{At: 1, Used: 10}, {At: 9, Used: 200}}},
	}}
	s := w.scale()
	check.That(t, s.first == 1 && s.last == 9 && s.most >= 200, "scale %+v", s)
}

func TestNothingToShow(t *testing.T) {
	for _, svg := range []string{
		Sawtooth{}.SVG(Options{}), Sawtooth{Panels: []Panel{{}}}.SVG(Options{}), Composition{}.SVG(Options{}),
	} {
		elements(t, svg)
		check.Lacks(t, "not a number", svg, "NaN", "Inf")
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.4: "0.4", 7: "7", 950: "950", 1000: "1k", 12_500: "12.5k", 128_000: "128k", 999_999: "1M", 1_500_000: "1.5M", -2000: "-2k"} {
		check.Equal(t, fmt.Sprintf("Short(%g )", v), Short(v), want)
	}
}

func FuzzText(f *testing.F) {
	for _, evil := range hostile {
		f.Add(evil)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := Panel{Name: s, Levels: []Level{{s, s, 3}}, Points: []Point{{At: 1, Used: 2}}, Marks: []Mark{{1, s, s}}}
		for _, svg := range []string{
			Sawtooth{Title: s, Desc: s, Panels: []Panel{p}}.SVG(Options{ID: s}),
			Composition{Title: s, Desc: s, Parts: []Part{{s, 1}}}.SVG(Options{}),
		} {
			for _, e := range elements(t, svg) {
				check.That(t, e.Name.Local != "script" && e.Name.Local != "x", "%q makes <%s>", s, e.Name.Local)
				for _, a := range e.Attr {
					check.That(t, !strings.HasPrefix(a.Name.Local, "on"), "%q makes %s", s, a.Name.Local)
				}
			}
			check.That(t, !strings.ContainsAny(svg, "\x00\x1b\u202E\u2066"), "%q: control characters pass", s)
		}
	})
}

func TestAxisHasRoundNumbers(t *testing.T) {
	svg := Sawtooth{Panels: []Panel{{Points: []Point{{At: 1}, {At: 80}}}}}.SVG(Options{})
	for _, at := range []string{"10", "20", "80"} {
		check.Contains(t, "axis", svg, ">"+at+"</text>")
	}
	check.That(t, !strings.Contains(svg, ">11<"), "got %s", svg)
}
