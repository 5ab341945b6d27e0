// Facts: what a draft states in a form that can be compared, as its maker writes it and as it is stored.

package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/internal/secrets"
	"cairn/internal/words"
	"cairn/llm/clean"
	"cairn/store"
)

// Limits of a fact, in characters; what is longer is no fact in a few words, and is left out.
const (
	maxAttribute = 60
	maxValue     = 120
	maxAlso      = 6 // words
	maxAlsoWord  = 40
)

// cleanFact cleans what a model wrote of the fact of a draft. What cannot be used is left out: the text of the memory says it too.
func cleanFact(d *draft) {
	f := &d.Fact
	f.Attribute = fewWords(f.Attribute, maxAttribute)
	f.Value = fewWords(f.Value, maxValue)
	if words.Fold(f.Attribute) == "" || words.Fold(f.Value) == "" {
		f.Attribute = ""
		f.Value = ""
	}
	also := f.Also
	f.Also = nil
	for _, word := range also {
		word = fewWords(word, maxAlsoWord)
		if word != "" && len(f.Also) < maxAlso && !slices.Contains(f.Also, word) {
			f.Also = append(f.Also, word)
		}
	}
}

// checkFact completes the fact of a draft whose sources are known; subject is whom or what its maker named, if that is nobody who speaks
// here.
func checkFact(d *draft, subject string) {
	f := &d.Fact
	f.Slot = words.Fold(f.Attribute)
	if name := words.Fold(subject); name != "" && f.Slot != "" {
		f.Slot = name + ofThing + f.Slot
	}
	f.Since = periodOf(f.Since, d.sentAt())
	f.Until = periodOf(f.Until, d.sentAt())
	if f.Since != "" && f.Until != "" && f.Until < f.Since && !strings.HasPrefix(f.Since, f.Until) {
		f.Until = ""
	}
}

// fewWords cleans what a model wrote in place of a few words; "" if it is longer than a limit, or has a secret.
func fewWords(text string, limit int) string {
	text = clean.Text(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > limit || secrets.Mask(text) != text {
		return ""
	}
	return text
}

// periodOf returns a day, month or year as it is stored: "2026-05-08", "2026-05" or "2026". Relative and written ones are those at the time
// when it was said. It returns "" for what is none of these.
func periodOf(text string, said time.Time) string {
	text = strings.TrimSpace(text)
	for _, form := range []string{time.DateOnly, "2006-01", "2006"} {
		if at, err := time.Parse(form, text); err == nil && at.Year() > 0 {
			return text
		}
	}
	if at, end, ok := timeOf(text); ok && at.Equal(end) { // a time of the day
		return at.Local().Format(time.DateOnly)
	}
	found := words.Dates(text, said.Local())
	if len(found) != 1 {
		return ""
	}
	from, to := found[0].From, found[0].To
	switch {
	case to.Equal(from.AddDate(0, 0, 1)):
		return from.Format(time.DateOnly)
	case from.Day() == 1 && to.Equal(from.AddDate(0, 1, 0)):
		return from.Format("2006-01")
	case from.YearDay() == 1 && to.Equal(from.AddDate(1, 0, 0)):
		return from.Format("2006")
	}
	return ""
}

// factOf returns the fact of a memory that gets another text: its dates, and its value if the text still has it. The words by which it was
// found besides may say what the text no longer says.
func factOf(m store.Memory, content string) store.Fact {
	f := m.Fact
	f.Also = nil
	if !strings.Contains(words.Fold(content), words.Fold(f.Value)) {
		return store.Fact{}
	}
	return f
}

// statesAll reports whether a fact says all that another one does.
func statesAll(f, of store.Fact) bool {
	unsaid := func(word string) bool { return !slices.Contains(f.Also, word) }
	return f.Slot == of.Slot && words.Fold(f.Value) == words.Fold(of.Value) && f.Since == of.Since && f.Until == of.Until && !slices.ContainsFunc(of.Also, unsaid)
}

// stated returns what a draft states, as one text for the judge.
func (d draft) stated() string {
	if strings.Contains(words.Fold(d.Content), words.Fold(d.Value)) {
		return d.Content
	}
	return d.Content + " (" + d.Value + ")"
}

// forgottenValues returns the forgotten memories that state what a draft states.
func forgottenValues(c *store.Conversation, tx *store.Tx, d draft) []store.Memory {
	if d.Slot == "" {
		return nil
	}
	forgotten := c.Facts(tx).InSlot(d.Slot, d.About, d.AboutID, "forgotten")
	return slices.DeleteFunc(forgotten, func(m store.Memory) bool { return !hasValue(m, d.Value) })
}

func hasValue(m store.Memory, value string) bool { return words.Fold(m.Value) == words.Fold(value) }

// covered returns the memories that have the same value as another one, which knows more of their time, or is older, and stands for them.
func covered(tx *store.Tx, by store.Memory) []store.Memory {
	return slices.DeleteFunc(tx.Memories().SupersededBy(by.ID), func(m store.Memory) bool {
		return !m.ByRule || m.State != "superseded" || !hasValue(m, by.Value)
	})
}

// inGroup returns the current memories about the subject of a memory that fill its slot.
func inGroup(c *store.Conversation, tx *store.Tx, m store.Memory) []store.Memory {
	const draftID = -1
	m.ID = draftID
	for _, group := range bySubject(append(inSlot(c, tx, m, "active"), m)) {
		if last := len(group) - 1; group[last].ID == draftID {
			return group[:last]
		}
	}
	return nil
}

// ShownPeriod returns a day, month or year for people: in a layout of dates, without its day, or without both.
func ShownPeriod(period, dates string) string {
	if at, err := time.Parse(time.DateOnly, period); err == nil {
		return at.Format(dates)
	}
	if at, err := time.Parse("2006-01", period); err == nil && dates != time.DateOnly {
		return at.Format("January 2006")
	}
	return period
}

// Doubt says for a model whether a memory is true now: "was so", "was planned", "not before 2026-08", "in doubt"; "" if it is.
func (m Memory) Doubt() string {
	switch {
	case m.droppedPlan():
		return "was planned"
	case m.wasSo():
		return "was so"
	case m.State == "active" && m.Upcoming:
		return "not before " + m.Since
	case m.State == "active" && m.InDoubt:
		return "in doubt"
	}
	return ""
}

// wasSo reports whether a memory was true until another one took its place, or until its own end.
func (m Memory) wasSo() bool {
	_, end, ends := timeOf(m.Until)
	return m.State == "superseded" || m.State == "expired" && m.Slot != "" && ends && !end.After(time.Now())
}

// droppedPlan reports whether another memory took the place of one before it began.
func (m Memory) droppedPlan() bool {
	return m.State == "superseded" && m.ByRule && m.Ended == "" && m.Announced()
}

// Period says for a model when a memory is or was true, with a comma after each part; "" if nobody said.
func (m Memory) Period() (text string) {
	if m.Since != "" && !m.Upcoming {
		text += "since " + m.Since + ", "
	}
	text += m.Doubt()
	if until := cmp.Or(m.Ended, m.Until); until != "" {
		text = strings.TrimSpace(text + " until " + until)
	}
	if text != "" && !strings.HasSuffix(text, ", ") {
		text += ", "
	}
	return text
}

// outcome tells a model what became of a memory that fills a slot.
func outcome(c *store.Conversation, tx *store.Tx, m store.Memory) string {
	var replaced, doubted []string
	for _, other := range tx.Memories().SupersededBy(m.ID) {
		if other.ByRule {
			replaced = append(replaced, fmt.Sprint(other.ID))
		}
	}
	for _, other := range inGroup(c, tx, m) {
		if m.InDoubt && other.InDoubt && !hasValue(other, m.Value) {
			doubted = append(doubted, fmt.Sprint(other.ID))
		}
	}
	switch {
	case m.State == "superseded":
		return fmt.Sprintf("Memory %d is newer, so this counts as what was.", m.SupersededBy)
	case len(doubted) > 0:
		return "It is in doubt: memory " + strings.Join(doubted, ", ") + " says otherwise."
	case len(replaced) > 0 && m.Upcoming:
		return "It takes the place of memory " + strings.Join(replaced, ", ") + " from " + m.Since + " on."
	case len(replaced) > 0:
		return "It takes the place of memory " + strings.Join(replaced, ", ") + "."
	}
	return ""
}
