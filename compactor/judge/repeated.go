// Lines of a summary that say nothing, or nothing new.

package judge

import (
	"strings"

	"cairn/compactor/summarize"
	"cairn/internal/lazy"
	"cairn/transcript"
)

// nothingLine matches a line that says that there is nothing under its heading: "None.", "- N/A", "(なし)".
var nothingLine = lazy.Pattern(`(?i)^[ \t]*(?:[-*•][ \t]+)?[(*_\[]{0,3}(?:none(?: (?:mentioned|stated|so far|identified|noted|recorded|at this time))?|n/?a|nothing|nil|` +
	`not (?:applicable|mentioned|specified|stated)|keine?|nichts|aucune?|néant|ningun[oa]|nada|nenhuma?|nessun[oa]|geen|inga?|brak|нет|не указано|` +
	`无|無|なし|特になし|없음|해당 없음|لا يوجد|yok)[.。)*_\]]{0,4}[ \t]*$`)

// withoutRepeats removes from a summary with headings the lines that say nothing, and those that are in it twice: some
// models write their summary and then write it again, below a rule or an announcement.
func withoutRepeats(text string) string {
	if !summarize.HasHeadings(text) || strings.Contains(text, "```") || strings.Contains(text, "~~~") {
		return text
	}
	lines := strings.Split(text, "\n")
	headings := summarize.HeadingsOf(lines)
	seen := map[string]bool{}
	kept := lines[:0]
	empty := false // the heading above has no other lines
	for i, line := range lines {
		flat := flat(line)
		isClaim := transcript.Citations.MatchString(line) || summarize.Bullet().MatchString(line)
		switch {
		case headings[i] >= 0:
			if empty {
				kept = kept[:len(kept)-1]
			}
			empty = true
		case strings.TrimSpace(line) == "":
			if empty {
				continue
			}
		case nothingLine().MatchString(line), isRule(line), isClaim && seen[flat]:
			continue
		case !isClaim && strings.HasSuffix(strings.TrimRight(line, " *_"), ":") && task().MatchString(line):
			continue // "Revised summary:"
		default:
			empty = false
			seen[flat] = true
		}
		kept = append(kept, line)
	}
	if empty && len(kept) > 1 {
		kept = kept[:len(kept)-1]
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}
