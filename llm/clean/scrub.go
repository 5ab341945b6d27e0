// Characters that nobody can read: they move a terminal's cursor, hide words from people, or show that a server broke
// a character apart. They are removed before anything else is decided, so a mark cannot hide behind them.

package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// scrubber removes unreadable characters from a text in pieces.
type scrubber struct {
	rest    string // has arrived, and is not decided
	last    rune   // the last rune that was kept; 0: none
	dropped bool   // a part of a run of broken characters was removed, and it may go on
}

// next adds full runes, and returns what is decided of the text. quoted reports whether a text is in the prompt.
func (s *scrubber) next(piece string, final bool, quoted func(string) bool) string {
	if s.rest == "" && isPlain(piece) {
		if piece != "" {
			s.last = rune(piece[len(piece)-1])
			s.dropped = false
		}
		return piece
	}
	text := s.rest + piece
	s.rest = ""
	var kept strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		write := ""
		switch {
		case isEscape(r):
			size = escapeSize(text, size, final)
		case r == utf8.RuneError:
			size, write = s.brokenRun(text, final, quoted)
		case r == '\r' && len(text) == 1 && !final:
			size = 0
		default:
			s.dropped = false
			write = s.readable(r, text, size)
		}
		if size == 0 {
			s.rest = text
			break
		}
		if write != "" {
			kept.WriteString(write)
			s.last, _ = utf8.DecodeLastRuneInString(write)
		}
		text = text[size:]
	}
	return kept.String()
}

// isPlain reports whether a text has only printable ASCII, line breaks and tabs.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// readable returns what remains of the rune of size bytes at the front of a text.
func (s *scrubber) readable(r rune, text string, size int) string {
	keep := true
	switch {
	case r == '\n', r == '\t':
	case r == '\v', r == '\f', r == '\u0085', r == '\r' && !strings.HasPrefix(text[size:], "\n"):
		return "\n"
	case r == '\r':
	case unicode.IsControl(r), unicode.Is(unicode.Noncharacter_Code_Point, r):
		keep = false
	case r == '\u200b': // between words of scripts without spaces it allows a line break
		keep = isUnspaced(s.last)
	case r == '\u00ad':
		keep = unicode.IsLetter(s.last)
	case r == '\u200c', r == '\u200d': // joins or separates letters, and joins emoji
		keep = s.last >= utf8.RuneSelf && !unicode.IsSpace(s.last) && (!unicode.Is(unicode.Cf, s.last) || isFlagTag(s.last))
	case isVariation(r): // chooses a form of the character before it
		keep = s.last != 0 && !unicode.IsSpace(s.last) && !isVariation(s.last)
	case isFlagTag(r): // a flag of a region is a black flag with tags: unicode.org/reports/tr51
		keep = s.last == '\U0001f3f4' || isFlagTag(s.last)
	case r == '\ufeff', '\u202a' <= r && r <= '\u202e', '\u2060' <= r && r <= '\u2064', '\u206a' <= r && r <= '\u206f', '\ufff9' <= r && r <= '\ufffb', r == '\u180e':
		keep = false
	}
	if !keep {
		return ""
	}
	return text[:size]
}

func isVariation(r rune) bool { return unicode.Is(unicode.Variation_Selector, r) }

func isFlagTag(r rune) bool { return '\U000e0000' <= r && r <= '\U000e007f' }

// brokenRun returns the size of the replacement characters and broken bytes at the front of a text, and what remains of
// them. Two and more are the parts of one character that a server has sent apart, unless the prompt has such characters.
// size is 0 if that needs more text.
func (s *scrubber) brokenRun(text string, final bool, quoted func(string) bool) (size int, write string) {
	const longest = 64
	count := 0
	for size < min(len(text), longest) {
		r, n := utf8.DecodeRuneInString(text[size:])
		if r != utf8.RuneError {
			break
		}
		size += n
		count++
	}
	switch {
	case count == 1 && size == len(text) && !final:
		return 0, ""
	case size == len(text) && size < longest && !final:
		return 0, ""
	case count == 1 && !s.dropped, quoted(string(utf8.RuneError)):
		write = text[:size]
	}
	s.dropped = size >= longest
	return size, write
}

// isEscape reports whether r begins a control sequence of a terminal (ECMA-48, 5.4 and 5.6).
func isEscape(r rune) bool {
	return r == '\x1b' || r == '\u009b' || r == '\u009d' || r == '\u0090' || r == '\u0098' || r == '\u009e' || r == '\u009f'
}

// escapeSize returns the size of the control sequence at the front of a text, whose first character has size bytes; 0 if
// that needs more text. A text that is no control sequence loses its first character only.
func escapeSize(text string, size int, final bool) int {
	first, _ := utf8.DecodeRuneInString(text)
	kind := map[rune]byte{'\u009b': '[', '\u009d': ']', '\u0090': 'P', '\u0098': 'X', '\u009e': '^', '\u009f': '_'}[first]
	at := size
	if first == '\x1b' {
		if len(text) == size {
			return waits(size, final)
		}
		kind = text[size]
		at++
	}
	switch kind {
	case '[':
		return sequenceSize(text, at, size, final)
	case ']', 'P', 'X', '^', '_':
		return stringSize(text, at, size, final)
	case '(', ')', '*', '+', '#': // chooses a set of characters
		if len(text) == at {
			return waits(at, final)
		}
		return at + 1
	case 'c', '7', '8', '=', '>': // resets the terminal, saves or restores the cursor
		return at
	}
	return size
}

// sequenceSize is escapeSize for a control sequence, which goes on at a byte.
func sequenceSize(text string, at, size int, final bool) int {
	const longest = 64 // bytes
	for ; at < min(len(text), longest); at++ {
		switch c := text[at]; {
		case '@' <= c && c <= '~':
			return at + 1
		case c < ' ' || c > '~':
			return size
		}
	}
	if at == longest {
		return size
	}
	return waits(at, final)
}

// stringSize is escapeSize for a control string, as the title of a window, which goes on at a byte.
func stringSize(text string, at, size int, final bool) int {
	const longest = 256 // bytes
	for ; at < min(len(text), longest); at++ {
		switch rest := text[at:]; {
		case rest[0] == '\a':
			return at + 1
		case strings.HasPrefix(rest, "\x1b\\"), strings.HasPrefix(rest, "\u009c"):
			return at + 2
		case rest[0] == '\n':
			return size
		}
	}
	if at == longest {
		return size
	}
	return waits(at, final)
}

// waits returns the size of an unfinished sequence at the end of the answer; before that 0.
func waits(size int, final bool) int {
	if final {
		return size
	}
	return 0
}
