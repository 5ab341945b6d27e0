// The text of the extractive summarizer: under each day one line of each speaker, with the numbers of its messages.

package summarize

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/tokens"
	"cairn/transcript"
)

// spokenLine is a line of sentences of one speaker, or a line with the day of those below it.
type spokenLine struct {
	text string
	seqs []int64 // of the messages whose sentences it has; none: it has a day, or sentences that a summary quotes
}

func spokenText(lines []spokenLine) string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.text
	}
	return strings.Join(texts, "\n")
}

// restingOn returns the lines of a text that ends with spoken ones, as far as these have sentences of messages.
func restingOn(spoken []spokenLine, text string) (lines []transcript.Line) {
	if text == "" || !strings.HasSuffix(text, spokenText(spoken)) {
		return nil
	}
	first := strings.Count(text, "\n") + 1 - len(spoken)
	for i, l := range spoken {
		if len(l.seqs) > 0 {
			lines = append(lines, transcript.Line{At: first + i, Seqs: l.seqs})
		}
	}
	return lines
}

// cited returns a line with the numbers of its messages.
func (l spokenLine) cited() spokenLine {
	slices.Sort(l.seqs)
	l.seqs = slices.Compact(l.seqs)
	l.text += citation(l.seqs)
	return l
}

// citation returns the numbers of messages, as a model writes them behind a line.
func citation(seqs []int64) string {
	if len(seqs) == 0 {
		return ""
	}
	numbers := make([]string, len(seqs))
	for i, seq := range seqs {
		numbers[i] = fmt.Sprintf("#%d", seq)
	}
	return " (" + strings.Join(numbers, ", ") + ")"
}

// write returns the chosen sentences, which come best first, in their order and under their days.
// If they exceed target, the last chosen ones are dropped; a single sentence is clipped.
func write(chosen []*sentence, target int) []spokenLine {
	for ; len(chosen) > 0; chosen = chosen[:len(chosen)-1] {
		lines := inOrder(chosen)
		if tokens.Estimate(spokenText(lines)) <= target {
			return lines
		}
		if len(chosen) == 1 {
			return []spokenLine{chosen[0].clipped(target)}
		}
	}
	return nil
}

// clipped returns a line with a sentence in at most target tokens.
func (s *sentence) clipped(target int) spokenLine {
	line := spokenLine{}
	if s.seq != 0 {
		line.seqs = []int64{s.seq}
	}
	for _, room := range []int{target - s.cite - 1, target} {
		line.text = tokens.Clip(oneLine(tokens.Clip(s.speaker+": "+s.text, room)), room)
		cited := line.cited()
		if line.text != "" && tokens.Estimate(cited.text) <= target {
			return cited
		}
	}
	return line
}

// inOrder writes day after day, and groups each day by speaker: a name at every change of speaker
// would take a quarter of the tokens.
func inOrder(chosen []*sentence) (lines []spokenLine) {
	var order []speech
	spoken := map[speech]*spokenLine{}
	for _, s := range slices.SortedFunc(slices.Values(chosen), func(a, b *sentence) int { return cmp.Compare(a.place, b.place) }) {
		line := spoken[s.speech()]
		switch {
		case line == nil:
			line = &spokenLine{text: s.speaker + ": "}
			spoken[s.speech()] = line
			order = append(order, s.speech())
		case endsSentence(line.text):
			line.text += " "
		default:
			line.text += "; "
		}
		line.text += s.text
		if s.seq != 0 {
			line.seqs = append(line.seqs, s.seq)
		}
	}
	day := ""
	for _, of := range order {
		if of.day != day {
			lines = append(lines, spokenLine{text: dayAfter(of.day, day) + ":"})
			day = of.day
		}
		lines = append(lines, spoken[of].cited())
	}
	return lines
}

// dayAfter returns a day without its year if the day above it, "" for none, has the same.
func dayAfter(day, last string) string {
	if at := strings.LastIndexByte(day, ' '); at > 0 && strings.HasSuffix(last, day[at:]) {
		return day[:at]
	}
	return day
}

func endsSentence(text string) bool {
	return strings.ContainsAny(text[max(0, len(text)-3):], ".!?…。！？।)]")
}
