package channel

import (
	"slices"
	"strconv"
	"strings"

	"cairn/channel/sentences"
)

// replyID is the id of a reply: what it is, and what the buttons below it need. It stays with what was sent, so what earlier versions wrote
// must remain readable: "landing-12", or "landing-12.de" with its language.
type replyID struct {
	kind     replyKind // "": another id than those below
	of       string    // the number of its turn, message or summary; the code of a question
	language string    // of its buttons; "": the default
	memories []string  // of a line about what was saved
	sources  string    // the turn whose sources a button shows; "": there is no such button
}

type replyKind string

// The kinds of replies, with which their ids begin.
const (
	replyAnswer    replyKind = "reply"
	replyFailed    replyKind = "notice" // a sentence that closes a failed turn
	replyLanding   replyKind = "landing"
	replySaved     replyKind = "saved"
	replyApproval  replyKind = "approve"
	replyShortened replyKind = "shortened"
	replyCutOff    replyKind = "cutoff"
	replyBudget    replyKind = "budget"
	replyAllowance replyKind = "allowance"
	replyUnwell    replyKind = "unwell" // of a failure, each of which is a message of its own
	replyChoice    replyKind = "model"  // of a model that somebody chose and the settings do not allow any more
)

var (
	// withLanguage are the kinds whose ids say the language of their buttons.
	withLanguage = []replyKind{replyLanding, replySaved, replyApproval}
	// noticeKinds are those of the bot's own notices, which answer nothing and report no failure.
	noticeKinds = append([]replyKind{replyShortened, replyCutOff, replyBudget, replyAllowance, replyUnwell, replyChoice}, withLanguage...)
	replyKinds  = append([]replyKind{replyAnswer, replyFailed}, noticeKinds...)
)

// sourcesMark comes before the number of the turn whose sources a button shows.
const sourcesMark = ".sources-"

// String returns the id as parseReplyID reads it.
func (id replyID) String() string {
	text := id.of
	if id.kind != "" {
		text = string(id.kind) + "-" + id.of
	}
	if id.sources != "" {
		text += sourcesMark + id.sources
	}
	if id.language != "" || len(id.memories) > 0 {
		text += "." + id.language
	}
	for _, memory := range id.memories {
		text += "." + memory
	}
	return text
}

// parseReplyID reads an id, whichever it is.
func parseReplyID(text string) (id replyID) {
	before, after, found := strings.Cut(text, sourcesMark)
	turn, language, _ := strings.Cut(after, ".")
	hasSources := found && turn != ""
	if hasSources {
		text = before
		id.sources = turn
		id.language = language
	}
	kind, of, found := strings.Cut(text, "-")
	if !found || !slices.Contains(replyKinds, replyKind(kind)) {
		id.of = text
		return id
	}
	id.kind = replyKind(kind)
	id.of = of
	if hasSources || !slices.Contains(withLanguage, id.kind) {
		return id
	}
	parts := strings.Split(of, ".")
	id.of = parts[0]
	if len(parts) > 1 {
		id.language = parts[1]
	}
	if len(parts) > 2 {
		id.memories = parts[2:]
	}
	return id
}

// WithSources returns the id of a reply below which a button shows the sources of a turn, by its number.
func WithSources(reply string, turn int64, language string) string {
	id := parseReplyID(reply)
	id.sources = number(turn)
	id.language = language
	return id.String()
}

// IsNotice reports whether a piece is neither an answer nor the failure of one. A connector that looks for what an
// earlier process has shown of an answer must not take one for the other.
func IsNotice(p Piece) bool { return slices.Contains(noticeKinds, parseReplyID(p.Reply).kind) }

// Buttons returns the buttons below a piece; most pieces have none.
func Buttons(p Piece) []Button {
	if p.Part != p.Parts-1 {
		return nil
	}
	id := parseReplyID(p.Reply)
	translate := sentences.In(id.language).Translate
	switch {
	case id.sources != "":
		return []Button{{Label: translate("Sources"), Line: "/sources " + id.sources, Beside: true}}
	case id.kind == replyLanding:
		return []Button{{Label: translate("Expand"), Line: "/expand " + id.of, Beside: true}, {Label: translate("Undo"), Line: "/undo " + id.of, Beside: true}}
	case id.kind == replySaved:
		return undoButtons(translate("Undo"), id.memories)
	case id.kind == replyApproval:
		return []Button{{Label: translate("Allow"), Line: "/allow " + id.of}, {Label: translate("Deny"), Line: "/deny " + id.of}}
	}
	return nil
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
