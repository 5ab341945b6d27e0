// Lines of any length from a pipe. Waiting for a line ends with a context.

package terminal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// maxLine limits one line of input, in bytes.
const maxLine = 4 << 20

// ErrTooLong is the error of a line that is left out.
var ErrTooLong = errors.New("a line of more than 4 MB was left out: send it in parts")

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
				if line.Text, line.Err = readLine(in); line.Err == io.EOF {
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
	for long := false; ; {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; !long {
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
