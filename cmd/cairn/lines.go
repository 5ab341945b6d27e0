// Files of JSON Lines: recorded messages, exported memories, questions.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"time"
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

// readLines yields the objects of a regular file and skips blank lines. An error, which names the
// file, comes last.
func readLines[T any](path string) iter.Seq2[line[T], error] {
	return func(yield func(line[T], error) bool) {
		file, err := os.Open(path)
		if err != nil {
			yield(line[T]{}, fmt.Errorf("open the recorded lines: %w", err))
			return
		}
		defer file.Close()
		if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
			yield(line[T]{}, fmt.Errorf("%s cannot be read twice: save it to a file first", path))
			return
		}
		lines := bufio.NewScanner(file)
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
				yield(l, l.wrong(err))
				return
			}
			if !yield(l, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(l, l.wrong(err))
		}
	}
}

// parseLine decodes a line that contains one JSON object. Unknown keys are ignored.
func parseLine(line []byte, into any) error {
	var wrongType *json.UnmarshalTypeError
	var wrongTime *time.ParseError
	err := json.Unmarshal(line, into)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrongType) && wrongType.Field != "":
		return fmt.Errorf("%q must not be a JSON %s", wrongType.Field[strings.LastIndex(wrongType.Field, ".")+1:], wrongType.Value)
	case errors.As(err, &wrongType):
		return errors.New("a line must be one JSON object")
	case errors.As(err, &wrongTime), strings.HasPrefix(err.Error(), "parsing time"), strings.Contains(err.Error(), "Time.UnmarshalJSON"):
		return errors.New(`a time must look like "2023-05-08T13:56:00Z"`)
	}
	return fmt.Errorf("this is not a JSON object: %w", err)
}
