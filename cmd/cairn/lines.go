// Files of JSON Lines: recorded messages, exported memories, questions.

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxRecord is the limit for one line, in bytes.
const maxRecord = 16 << 20

// line is a JSON object of a file, with its position.
type line[T any] struct {
	value  T
	file   string
	number int
}

// wrong wraps err with the line's file and number.
func (l line[T]) wrong(err error) error { return fmt.Errorf("%s:%d: %w", l.file, l.number, err) }

// readLines returns the objects of a file, or of standard input if path is "-", without blank lines.
// An error names the file.
func readLines[T any](path string, stdin io.Reader) (all []line[T], err error) {
	lines := bufio.NewScanner(stdin)
	if path == "-" {
		path = "standard input"
	} else {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		lines = bufio.NewScanner(file)
	}
	lines.Buffer(nil, maxRecord)
	l := line[T]{file: path, number: 1}
	for ; lines.Scan(); l.number++ {
		text := lines.Bytes()
		if l.number == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff")) // a byte order mark that some editors write
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		l.value = *new(T)
		if err := parseLine(text, &l.value); err != nil {
			return nil, l.wrong(err)
		}
		all = append(all, l)
	}
	if err := lines.Err(); err != nil {
		return nil, l.wrong(err)
	}
	return all, nil
}

// parseLine decodes a line that contains one JSON object. Unknown keys are ignored.
func parseLine(line []byte, into any) error {
	err := json.Unmarshal(line, into)
	_, broken := errors.AsType[*json.SyntaxError](err)
	wrong, unfit := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
		return nil
	case broken:
		return errors.New(`this is not a JSON object: write one on each line, as {"key":"value"}`)
	case unfit && wrong.Field != "":
		return fmt.Errorf("%q must not be a JSON %s", wrong.Field, wrong.Value)
	case unfit:
		return errors.New("a line must be one JSON object")
	}
	return errors.New(`a time must look like "2023-05-08T13:56:00Z"`) // no other type decodes itself
}
