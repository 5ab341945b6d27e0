// Small files that settings name, or that hold them.
package main

import (
	"fmt"
	"io"
	"os"
)

// maxFile bounds such a file, in bytes.
const maxFile = 1 << 20

// readFile reads a regular file of at most maxFile. Anything else is refused before it
// is opened, for a pipe would be waited for and a device might never end.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than 1 MB", path)
	}
	return text, err
}
