// Lines of a file, for what is recorded in JSON Lines.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"iter"
	"os"
)

// maxRecord bounds one line, in bytes.
const maxRecord = 16 << 20

// fileLine is a line that is not blank, and where it stands.
type fileLine struct {
	text   []byte // until the next one is read
	number int
}

// readLines yields the lines of a file that can be read twice; an error, which names
// the file, is the last thing it yields.
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
				text = bytes.TrimPrefix(text, []byte("\ufeff")) // the mark some editors begin a file with
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
