// A pipe: lines of any length come from it, and replies are written to it in one call.

package terminal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
)

// maxLine limits one line of input, in bytes.
const maxLine = 4 << 20

// ErrTooLong is the error of a line that is left out.
var ErrTooLong = errors.New("a line longer than 4 MB was skipped: send it in parts")

// Line is one line of input, or an error.
type Line struct {
	Number int // from 1
	Text   string
	Err    error // ErrTooLong concerns this line only; any other error ends the input
}

// Lines yields the lines of r until its end, or until ctx is done. Its goroutine may remain in a
// read that cannot be interrupted; it ends after the next line.
func Lines(ctx context.Context, r io.Reader) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		read := make(chan Line)
		go func() {
			defer close(read)
			in := bufio.NewReaderSize(r, 64<<10)
			for line := (Line{}); line.Err == nil || line.Err == ErrTooLong; {
				line.Number++
				line.Text, line.Err = readLine(in)
				if line.Err == io.EOF {
					return
				}
				if line.Number == 1 {
					line.Text = strings.TrimPrefix(line.Text, "\ufeff") // a byte order mark: Windows writes one into a pipe
				}
				select {
				case read <- line:
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			select {
			case line, ok := <-read:
				if !ok || !yield(line) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// readLine returns the next line without its newline, as valid UTF-8. The last line need not end with a newline.
func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	long := false
	for {
		part, err := in.ReadSlice('\n')
		long = long || len(line)+len(part) > maxLine
		if !long {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err != nil && err != io.EOF:
			return "", fmt.Errorf("read the input: %w", err)
		case long:
			return "", ErrTooLong
		case err == io.EOF && len(line) == 0:
			return "", io.EOF
		default:
			return strings.ToValidUTF8(string(bytes.TrimRight(line, "\r\n")), "\uFFFD"), nil
		}
	}
}

// output is a pipe or a file. A failed write is permanent and ends the run: no further output would be read, and
// retries would never end.
type output struct {
	mu     sync.Mutex // so that writes are not interleaved
	w      io.Writer
	failed context.Context // its cause is the first write error
	fail   context.CancelCauseFunc
}

func newOutput(w io.Writer) *output {
	failed, fail := context.WithCancelCause(context.Background())
	return &output{w: w, failed: failed, fail: fail}
}

// run calls do with a context that ends when a write fails. Then it returns that error, whatever
// error resulted from it.
func (o *output) run(ctx context.Context, do func(context.Context) error) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(o.failed, end)()
	err := do(ctx)
	return cmp.Or(context.Cause(o.failed), err)
}

// write writes text in one call, unless it is empty: writing nothing fails, too, where the disk is full.
func (o *output) write(text string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if text != "" && o.failed.Err() == nil {
		if _, err := io.WriteString(o.w, text); err != nil {
			const kept = "accepted messages are saved, and their replies follow at the next start"
			o.fail(fmt.Errorf("the replies cannot be written (%w); %s", err, kept))
		}
	}
	return context.Cause(o.failed)
}

// send writes a reply. If that fails, it waits for the end of the run, which is near: the hub would
// retry until then, and log each error.
func (o *output) send(ctx context.Context, text string) error {
	err := o.write(text)
	if err != nil {
		<-ctx.Done()
	}
	return err
}
