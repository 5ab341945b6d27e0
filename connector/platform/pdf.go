// PDFs: pdftotext reads them, in a process of its own with little memory and time. A file can be made to exhaust any parser.

package platform

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"cairn/channel"
)

const (
	// MaxPDF is how many bytes of a PDF are fetched.
	MaxPDF = 25 << 20

	pdfProgram = "pdftotext"
	pdfTime    = 20 * time.Second // for one file; the message may have less left
	pdfSlots   = 2                // files that are fetched and read at the same time

	// What the program may use of the machine.
	pdfMemory  = 512 << 20 // bytes of address space
	pdfSeconds = 10        // of the processor
)

// Why the text of a PDF is missing. People see a translation.
const (
	notePDFOff     = "not read: the program pdftotext is missing on the bot's machine; its owner can install poppler-utils"
	notePDFLarge   = "not read: it is larger than 25 MB"
	notePDFGone    = "not read: it could not be downloaded"
	notePDFLate    = "not read: it took too long"
	notePDFDamaged = "not read: it is damaged, too large to read, or protected by a password"
	notePDFEmpty   = "not read: it contains no text; perhaps its pages are pictures"
)

// PDFReader reads PDFs with pdftotext. Both connectors share it.
type PDFReader struct {
	program string
	slots   *semaphore.Weighted
}

// FindPDFReader returns a PDFReader if pdftotext is on PATH; else nil.
func FindPDFReader() *PDFReader {
	program, err := exec.LookPath(pdfProgram)
	if err != nil {
		return nil
	}
	return &PDFReader{program: program, slots: semaphore.NewWeighted(pdfSlots)}
}

// Program returns the path of the program.
func (p *PDFReader) Program() string { return p.program }

func isPDF(a channel.Attachment) bool {
	media, _, _ := strings.Cut(a.Type, ";")
	return media == "application/pdf" || media == "application/x-pdf"
}

// readPDF returns the text of a PDF, or a note that says why there is none.
func (f Files) readPDF(ctx context.Context, a channel.Attachment) (text, note string) {
	p := f.PDF
	switch {
	case p == nil:
		return "", notePDFOff
	case a.Size > MaxPDF:
		return "", notePDFLarge
	case p.slots.Acquire(ctx, 1) != nil:
		return "", notePDFLate
	}
	defer p.slots.Release(1)
	data, err := f.Fetch(WithLimit(ctx, MaxPDF), a.URL)
	switch {
	case TooLong(err):
		return "", notePDFLarge
	case err != nil || len(data) == 0 || isPage(data):
		return "", notePDFGone
	case !bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")):
		return "", notePDFDamaged
	}
	limited, cancel := context.WithTimeout(ctx, pdfTime)
	defer cancel()
	text, err = p.Text(limited, data)
	text = cleanText(text)
	switch {
	case limited.Err() != nil:
		return "", notePDFLate
	case err != nil:
		return "", notePDFDamaged
	case text == "":
		return "", notePDFEmpty
	}
	return text, ""
}

// Text returns the text of a PDF, at most its first MaxText bytes. The program gets none of the bot's environment, and ends with ctx.
func (p *PDFReader) Text(ctx context.Context, pdf []byte) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.program, "-q", "-enc", "UTF-8", "-eol", "unix", "-", "-")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // the process group, with what it started
	cmd.WaitDelay = time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	cmd.Dir = "/"
	limited := make(chan struct{}) // closed once the program has its limits: before, it gets nothing to read
	out := &head{most: MaxText, full: cancel}
	cmd.Stdin = &input{Reader: bytes.NewReader(pdf), ready: limited}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		return "", err
	}
	err := limitProgram(cmd.Process.Pid)
	if err != nil {
		cancel()
	}
	close(limited)
	ended := cmd.Wait()
	if ended != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it may have left behind
	}
	switch {
	case err != nil:
		return "", err
	case out.cut.Load():
		return out.String(), nil
	case errors.Is(ended, exec.ErrWaitDelay): // it succeeded, and left something running that kept its output open
		ended = nil
	}
	return out.String(), ended
}

// input is what the program reads, from ready on.
type input struct {
	io.Reader
	ready <-chan struct{}
}

func (i *input) Read(p []byte) (int, error) {
	<-i.ready
	return i.Reader.Read(p)
}

// head keeps the first most bytes that are written, and then calls full.
type head struct {
	buffer bytes.Buffer // no embedding: io.Copy would use its ReadFrom
	most   int
	full   func()
	cut    atomic.Bool
}

func (h *head) Write(p []byte) (int, error) {
	n, _ := h.buffer.Write(p[:min(len(p), h.most-h.buffer.Len())])
	if n < len(p) {
		h.cut.Store(true)
		h.full()
		return n, io.ErrShortWrite
	}
	return n, nil
}

func (h *head) String() string { return h.buffer.String() }
