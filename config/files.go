// Files that the settings name, and the settings file itself.

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxFile is the size limit of such a file, in bytes.
const maxFile = 1 << 20

// MaxPrompt is the size limit of a prompt_file, in bytes: about 4 000 tokens.
const MaxPrompt = 16 << 10

// ReadFile reads a regular file of at most 1 MB. It refuses anything else before opening it,
// because reading a pipe would block and a device might never end.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
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
	return bytes.TrimPrefix(text, []byte("\ufeff")), err // which editors on Windows write
}

// ReadPrompt reads a prompt_file. It returns an error if the file is empty or too large.
func ReadPrompt(path string) (string, error) {
	text, err := ReadFile(path)
	switch {
	case err != nil:
		return "", err
	case len(text) > MaxPrompt:
		return "", fmt.Errorf("it has %d bytes; the limit is %d", len(text), MaxPrompt)
	case strings.TrimSpace(string(text)) == "":
		return "", errors.New("it is empty")
	}
	return string(text), nil
}
