// Identifiers: what a summary must copy exactly to be of use.

package compactor

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"cairn/compactor/summarize"
)

// identifiers are URLs, paths, mail addresses, long numbers, hashes, UUIDs, tickets
// and amounts.
var identifiers = regexp.MustCompile(`[a-z][a-z0-9+.-]*://[^\s<>"'` + "`" + `)\]]+` +
	`|[\w.+-]+@[\w-]+\.[\w.-]+` +
	`|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b` +
	`|\b[0-9a-f]{7,64}\b` +
	`|\b[A-Z][A-Z0-9]+-[0-9]+\b` +
	`|[$€£¥]\s?[0-9][0-9.,'’]*[0-9]|[0-9][0-9.,'’]*\s?(?:[$€£¥]|(?:EUR|USD|CHF|GBP)\b)` +
	`|(?:~|\.{1,2})?(?:/[\w.-]+){2,}`)

// missing returns the identifiers of the material that text does not have.
func missing(items []summarize.Item, text string) (found []string) {
	for _, it := range items {
		body := it.Text
		if at := strings.IndexByte(body, '>'); at >= 0 { // without the label, which is ours
			body = body[at+1:]
		}
		if at := strings.LastIndexByte(body, '<'); at >= 0 {
			body = body[:at]
		}
		for _, id := range identifiers.FindAllString(body, -1) {
			id = strings.TrimRight(id, ".,;:!?")
			if !strings.ContainsAny(id, "0123456789/@") || strings.Contains(text, id) || slices.Contains(found, id) {
				continue
			}
			found = append(found, id)
		}
	}
	return found
}

// compare notes in the log how many identifiers a summary lacks; which ones it does not
// tell, for what people said does not belong there. That blocks nothing: a good summary
// leaves out most of them, and the messages keep all.
func (w worker) compare(items []summarize.Item, text string) {
	if !w.c.o.Log.Enabled(w.c.ctx, slog.LevelDebug) { // it reads the whole span
		return
	}
	if left := len(missing(items, text)); left > 0 {
		w.c.o.Log.Debug("summary_omits_identifiers", "from", w.j.row.From, "to", w.j.row.To, "count", left)
	}
}
