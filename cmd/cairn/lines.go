// Lines of a file, for what is recorded in JSON Lines.
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

// maxRecord bounds one line, in bytes.
const maxRecord = 16 << 20

// parseLine reads a line with one JSON object. Keys that into lacks are ignored.
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
	return fmt.Errorf("this is no JSON object: %w", err)
}

// fileLine is a line that is not blank, and its place in the file.
type fileLine struct {
	text   []byte // until the next one is read
	number int
}

// readLines yields the lines of a file that can be read twice. An error, which names the file,
// comes last.
func readLines(path string) iter.Seq2[fileLine, error] {
	return func(yield func(fileLine, error) bool) {
		file, err := os.Open(path)
		if err != nil {
			yield(fileLine{}, fmt.Errorf("open the recorded lines: %w", err))
			return
		}
		defer file.Close()
		if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
			yield(fileLine{}, fmt.Errorf("%s is no file that can be read twice: save it to one first", path))
			return
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, maxRecord)
		number := 0
		for lines.Scan() {
			text := lines.Bytes()
			if number++; number == 1 {
				text = bytes.TrimPrefix(text, []byte("\ufeff")) // the byte order mark that some editors write
			}
			if len(bytes.TrimSpace(text)) > 0 && !yield(fileLine{text, number}, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(fileLine{}, fmt.Errorf("%s:%d: %w", path, number+1, err))
		}
	}
}
