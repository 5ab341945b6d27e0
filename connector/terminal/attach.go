// Files that a person names in a message: @notes.md, @./plan, @/tmp/gate.png.

package terminal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"cairn/channel"
	"cairn/connector/platform"
)

// named matches a file's name at the start of a word. A name without a dot or a slash is an agent's: @id.
var named = regexp.MustCompile(`(?:^|\s)@(\S*[./]\S*)`)

// filesIn returns the paths of the files that a text names and that exist.
func filesIn(text string) (paths []string) {
	for _, found := range named.FindAllStringSubmatch(text, -1) {
		for _, at := range []string{found[1], strings.TrimRight(found[1], ".,;:!?)")} { // at the end of a sentence, too
			if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() {
				paths = append(paths, at)
				break
			}
		}
	}
	return paths
}

// attach adds the files to a message that its author has named in what was typed: in what was pasted, others may have named them. The
// error is a sentence for the person.
func (e *editor) attach(ctx context.Context, m *channel.Inbound, typed string) error {
	paths := filesIn(typed)
	if len(paths) == 0 || e.files == nil {
		return nil
	}
	uploads, err := platform.ReadLocal(paths)
	if err == nil {
		files, refused := e.files()
		if refused != nil {
			return refused
		}
		m.Attachments, err = files.Read(ctx, e.conversation, *m, uploads)
	}
	if err != nil {
		return err
	}
	for _, a := range m.Attachments {
		e.note(e.says(fmt.Sprintf("attached: %s", Printable(a.Name))))
	}
	return nil
}

// completePath completes the name of a file at the end of the input.
func (s *screen) completePath() {
	typed := s.input.Value()
	at := strings.LastIndexAny(typed, " \n\t") + 1
	path, is := strings.CutPrefix(typed[at:], "@")
	if !is || path == "" {
		return
	}
	found, err := filepath.Glob(globEscape.Replace(path) + "*")
	if err != nil || len(found) == 0 {
		return
	}
	whole := found[0]
	for _, one := range found[1:] {
		for !strings.HasPrefix(one, whole) {
			_, size := utf8.DecodeLastRuneInString(whole)
			whole = whole[:len(whole)-size]
		}
	}
	if info, err := os.Stat(whole); len(found) == 1 && err == nil && info.IsDir() {
		whole += "/"
	}
	if len(whole) > len(path) && strings.HasPrefix(whole, path) && !strings.ContainsAny(whole, " \n\t") {
		s.input.InsertString(whole[len(path):])
	}
}

// globEscape makes the characters of a pattern mean themselves.
var globEscape = strings.NewReplacer("\\", "\\\\", "*", "\\*", "?", "\\?", "[", "\\[")
