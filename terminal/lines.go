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

var errTooLong = errors.New("a line of more than 4 MB was left out: send it in parts")

// line is one line of input, or an error.
type line struct {
	number int // from 1
	text   string
	err    error // errTooLong concerns this line only; any other error ends the input
}

// lines yields the lines of r until its end, or until ctx is done. Its goroutine may remain in a
// read that cannot be interrupted; it ends after the next line.
func lines(ctx context.Context, r io.Reader) iter.Seq[line] {
	return func(yield func(line) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		read := readLines(ctx, r)
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

func readLines(ctx context.Context, r io.Reader) <-chan line {
	out := make(chan line)
	go func() {
		defer close(out)
		in := bufio.NewReaderSize(r, 64<<10)
		for n := 1; ; n++ {
			text, err := readLine(in)
			if err == io.EOF {
				return
			}
			select {
			case out <- line{number: n, text: text, err: err}:
			case <-ctx.Done():
				return
			}
			if err != nil && err != errTooLong {
				return
			}
		}
	}()
	return out
}

// readLine returns the next line without its newline, as valid UTF-8. The last line need not end
// with a newline.
func readLine(in *bufio.Reader) (string, error) {
	text, long, err := ReadLine(in, maxLine)
	switch {
	case err == io.EOF && (len(text) > 0 || long):
	case err == io.EOF:
		return "", io.EOF
	case err != nil:
		return "", fmt.Errorf("read the input: %w", err)
	}
	if long {
		return "", errTooLong
	}
	return strings.ToValidUTF8(string(bytes.TrimRight(text, "\r\n")), "\uFFFD"), nil
}

// ReadLine reads a line with its newline. Of one with more than most bytes it returns only the first
// part.
func ReadLine(in *bufio.Reader, most int) (line []byte, tooLong bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > most; !tooLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}
