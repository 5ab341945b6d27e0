// The keys as the line editor can take them.
package terminal

import (
	"io"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

const (
	ctrlC = 3
	// interrupt stands for Ctrl-C behind keys. The line editor itself would end at
	// Ctrl-C, whatever runs and whatever has been typed; a key it has no meaning for
	// it hands to its callback, which knows better.
	interrupt = 0x1c
)

// ways are sequences some terminals send for a key, and the ones the line editor knows.
var ways = map[string]string{
	"\x1b[1~": "\x1b[H", "\x1b[7~": "\x1b[H", // Home
	"\x1b[4~": "\x1b[F", "\x1b[8~": "\x1b[F", // End
}

// wayLen is how long each of the ways is.
const wayLen = len("\x1b[1~")

// keys reads what is typed. It drops bytes that are no UTF-8, at which the line
// editor would stand still, and ends the input when the person wants to leave.
type keys struct {
	in   io.Reader
	left *atomic.Bool
	rest []byte // a rune or a sequence that has not arrived whole
}

func (k *keys) Read(p []byte) (int, error) {
	if k.left.Load() {
		return 0, io.EOF
	}
	if len(p) < 2*utf8.UTFMax { // an escape sequence without end fills the editor's buffer
		return 0, io.ErrShortBuffer
	}
	n := copy(p, k.rest)
	k.rest = nil
	m, err := k.in.Read(p[n:])
	typed := p[:n+m]
	kept := 0
	for len(typed) > 0 {
		if (!utf8.FullRune(typed) || begun(typed)) && err == nil {
			k.rest = append([]byte{}, typed...)
			break
		}
		if known, ok := ways[string(typed[:min(wayLen, len(typed))])]; ok {
			kept += copy(p[kept:], known)
			typed = typed[wayLen:]
			continue
		}
		r, size := utf8.DecodeRune(typed)
		switch {
		case r == utf8.RuneError: // not UTF-8, or the character that stands for it
		case r == ctrlC:
			p[kept] = interrupt
			kept++
		default:
			kept += copy(p[kept:], typed[:size])
		}
		typed = typed[size:]
	}
	return kept, err
}

// begun reports whether more bytes could make one of the ways of typed.
func begun(typed []byte) bool {
	for way := range ways {
		if len(typed) < wayLen && strings.HasPrefix(way, string(typed)) {
			return true
		}
	}
	return false
}
