package platform

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/testkit/check"
)

// pdfOf returns a PDF of one page with a line of text.
func pdfOf(text string) []byte {
	var b bytes.Buffer
	var at []int
	object := func(body string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), body)
	}
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
	object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>")
	content := "BT /F1 12 Tf 50 700 Td (" + text + ") Tj ET"
	object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, table)
	return b.Bytes()
}

// hostilePDFs are files like those that have brought down parsers.
func hostilePDFs() map[string][]byte {
	cyclic := strings.Replace(string(pdfOf("x")), "/Kids [3 0 R]", "/Kids [2 0 R]", 1)
	return map[string][]byte{
		"an array of arrays (569 bytes)": []byte("%PDF-1.4\n1 0 obj\n" + strings.Repeat("[", 569-18-9) + "\nendobj\n"),
		"a million arrays":               []byte("%PDF-1.4\n1 0 obj\n" + strings.Repeat("[", 1_000_000) + "\nendobj\ntrailer << /Root 1 0 R >>"),
		"pages that contain themselves":  []byte(cyclic),
		"a root that is itself":          []byte("%PDF-1.4\n1 0 obj\n1 0 R\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF"),
		"a table of a billion objects":   []byte("%PDF-1.4\nxref\n0 1000000000\ntrailer << /Size 1000000000 /Root 1 0 R >>\nstartxref\n9\n%%EOF"),
		"a stream of 4 GB": []byte("%PDF-1.4\n1 0 obj\n<< /Type /XRef /Size 1000000000 /W [8 8 8] /Index [0 1000000000] /Length 4294967295 >>\n" +
			"stream\nx\nendstream\nendobj\nstartxref\n9\n%%EOF"),
		"a table that follows itself": []byte("%PDF-1.4\nxref\n0 0\ntrailer << /Size 1 /Root 1 0 R /Prev 9 >>\nstartxref\n9\n%%EOF"),
		"noise":                       append([]byte("%PDF-1.7\n"), bytes.Repeat([]byte{0, 0xff, '<', '('}, 50_000)...),
		"nothing":                     []byte("%PDF-1.7"),
	}
}

// reading returns files whose only PDF has this content.
func reading(p *PDFReader, pdf []byte) (Files, channel.Inbound) {
	f := Files{Tokens: 500, PDF: p, Fetch: func(context.Context, string) ([]byte, error) { return pdf, nil }}
	return f, channel.Inbound{ID: "1", Attachments: []channel.Attachment{{Kind: "file", Name: "a.pdf", Type: "application/pdf", URL: "x"}}}
}

func extracted(ctx context.Context, p *PDFReader, pdf []byte) channel.Attachment {
	f, m := reading(p, pdf)
	return f.Extract(ctx, "", m)[0]
}

// fakePDF returns a reader whose pdftotext is a script.
func fakePDF(t *testing.T, script string) *PDFReader {
	dir := t.TempDir()
	check.NoError(t, os.WriteFile(filepath.Join(dir, pdfProgram), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	p := FindPDFReader()
	check.Require(t, p != nil, "the script is not found")
	return p
}

func TestPDFToTextReadsOrdinaryAndHostileFiles(t *testing.T) {
	p := FindPDFReader()
	if p == nil {
		t.Skip("pdftotext is not installed")
	}
	got := extracted(t.Context(), p, pdfOf("The ferry leaves at nine."))
	check.Equal(t, "the text", got.Text, "The ferry leaves at nine.")
	check.Equal(t, "the note", got.Note, "")
	check.Equal(t, "a page without text", extracted(t.Context(), p, pdfOf("")).Note, notePDFEmpty)
	before := resident(t)
	for what, pdf := range hostilePDFs() {
		start := time.Now()
		got := extracted(t.Context(), p, pdf)
		took := time.Since(start)
		t.Logf("%s: %q in %v", what, got.Note, took)
		check.That(t, got.Text == "" && got.Note != "", "%s: %.100q, %q", what, got.Text, got.Note)
		check.That(t, took < pdfTime, "%s took %v", what, took)
	}
	grown := resident(t) - before
	check.That(t, grown < 20<<20, "the process has grown by %d bytes", grown)
}

// resident returns the resident memory of this process; 0 if the system does not tell.
func resident(t *testing.T) int {
	runtime.GC()
	fields := strings.Fields(string(check.Must(os.ReadFile("/proc/self/statm"))(t)))
	return check.Must(strconv.Atoi(fields[1]))(t) * os.Getpagesize()
}

func TestAProgramForPDFsThatMisbehavesDoesNoHarm(t *testing.T) {
	for what, c := range map[string]struct{ script, want string }{
		"it hangs":                           {"sleep 1000", notePDFLate},
		"it hangs with a child":              {"sleep 1000 & wait", notePDFLate},
		"it reads nothing and hangs":         {"exec 0<&-; sleep 1000", notePDFLate},
		"it crashes":                         {"kill -SEGV $$", notePDFDamaged},
		"it fails":                           {"cat >/dev/null; echo half; exit 1", notePDFDamaged},
		"it writes nothing":                  {"cat >/dev/null", notePDFEmpty},
		"it writes to a file":                {`cat >/dev/null; echo x >"$0.out" && echo written`, notePDFDamaged},
		"it takes too much memory":           {"cat >/dev/null; exec awk 'BEGIN { s = \"0123456789\"; while (1) s = s s }'", notePDFDamaged},
		"it takes too much of the processor": {"cat >/dev/null; ulimit -t >&2; while :; do :; done", notePDFLate},
	} {
		t.Run(what, func(t *testing.T) {
			p := fakePDF(t, c.script)
			wait := time.Minute
			if c.want == notePDFLate {
				wait = extractMargin + 500*time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			got := extracted(ctx, p, pdfOf("x"))
			check.Equal(t, "the note", got.Note, c.want)
			check.Equal(t, "the text", got.Text, "")
		})
	}
	t.Run("it floods", func(t *testing.T) {
		got := extracted(t.Context(), fakePDF(t, "yes the quick brown fox"), pdfOf("x"))
		check.That(t, strings.HasPrefix(got.Text, "the quick brown fox\n") && len(got.Text) < 5000 && got.Note == "", "%d bytes, %q", len(got.Text), got.Note)
	})
	t.Run("it leaves a child behind", func(t *testing.T) {
		child := extracted(t.Context(), fakePDF(t, "sleep 1000 & cat >/dev/null; echo $!"), pdfOf("x")).Text
		check.Require(t, check.ErrorOf(strconv.Atoi(child)) == nil, "the text is %q", child)
		check.That(t, check.Soon(func() bool { // a zombie has no command
			command, _ := os.ReadFile("/proc/" + child + "/cmdline")
			return len(command) == 0
		}), "the child still runs")
	})
}

// The program gets the file alone: no arguments of people, no environment of the bot, and its limits before it reads.
func TestWhatTheProgramForPDFsGets(t *testing.T) {
	t.Setenv("DISCORD_TOKEN", "secret")
	p := fakePDF(t, `cat >/dev/null; echo "$@"; env | cut -d= -f1 | sort | tr '\n' ' '; echo; ulimit -v; ulimit -t; ulimit -c; ulimit -f; pwd; ps -o pgid= -p $$ | tr -d ' '; echo $$`)
	text := check.Must(p.Text(t.Context(), pdfOf("x")))(t)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	check.Require(t, len(lines) == 9, "%q", text)
	check.Equal(t, "the arguments", lines[0], "-q -enc UTF-8 -eol unix - -")
	check.Lacks(t, "the environment", lines[1], "DISCORD_TOKEN", "HOME")
	if runtime.GOOS == "linux" {
		check.EqualAll(t, "the limits", lines[2:6], []string{strconv.Itoa(pdfMemory / 1024), strconv.Itoa(pdfSeconds), "0", "0"})
	}
	check.Equal(t, "the folder", lines[6], "/")
	check.Equal(t, "its process group is its own", lines[7], lines[8])
}

func TestPDFsThatAreNotRead(t *testing.T) {
	check.Contains(t, "without the program", extracted(t.Context(), nil, pdfOf("x")).Note, "pdftotext", "poppler-utils")
	p := fakePDF(t, "echo text")
	check.Equal(t, "a page instead of a file", extracted(t.Context(), p, []byte("<!DOCTYPE html><title>Sign in</title>")).Note, notePDFGone)
	check.Equal(t, "nothing", extracted(t.Context(), p, nil).Note, notePDFGone)
	check.Equal(t, "another file", extracted(t.Context(), p, []byte("PK\x03\x04")).Note, notePDFDamaged)
	f, m := reading(p, pdfOf("x"))
	m.Attachments[0].Size = MaxPDF + 1
	check.Equal(t, "a large one", f.Extract(t.Context(), "", m)[0].Note, notePDFLarge)
	f.Tokens = 0
	check.Equal(t, "none are wanted", f.Extract(t.Context(), "", m)[0].Note, "")
	t.Setenv("PATH", t.TempDir())
	check.That(t, FindPDFReader() == nil, "a program is found in an empty folder")
}
