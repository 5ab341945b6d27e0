package compactor

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/secrets"
	"cairn/llm"
)

// The worker reads its span as escaped, labelled data: nothing that was said can
// close the transcript or pass for another speaker.

// item is a piece of material that is never cut: a message, or a summary.
type item struct {
	text   string
	tokens int
	turn   int64 // items of one turn stay together
	from   int64
	to     int64
}

const (
	mostOfResult  = 300   // tokens of a tool result the worker is shown
	mostOfMessage = 3_000 // tokens of one message or summary it is shown
)

func itemsOf(messages []Message, most int) []item {
	items := make([]item, 0, len(messages))
	for _, m := range messages {
		if text := labelled(m, most); text != "" {
			items = append(items, item{text: text, tokens: perMessage + Estimate(text), turn: m.Turn, from: m.Seq, to: m.Seq})
		}
	}
	return items
}

// labelled is a message as the worker reads it; empty for what it need not read:
// results that are copies of what is remembered anyway, and empty answers.
func labelled(m Message, most int) string {
	at := m.Time.Local().Format(timeFormat)
	switch m.Role {
	case llm.RoleUser:
		reply := ""
		m.Quote = secrets.Mask(m.Quote)
		if to := repliedTo(m); to != "" {
			reply = fmt.Sprintf(" replying_to=\"%s\"", attribute(to))
		}
		if m.Unremembered {
			reply += ` memories="none"`
		}
		return fmt.Sprintf("<message id=\"%d\" time=\"%s\" from=\"%s\" user=\"%s\"%s>%s</message>",
			m.Seq, at, attribute(cleanName(m.Author)), attribute(m.AuthorID), reply, content(lean(body(m)), most))
	case llm.RoleTool:
		if slices.Contains(neverCleared, m.Tool) {
			return ""
		}
		return fmt.Sprintf("<tool_result id=\"%d\" time=\"%s\" tool=\"%s\">%s</tool_result>", m.Seq, at, attribute(m.Tool), content(lean(m.Text), min(most, mostOfResult)))
	default:
		if m.Text == "" {
			return ""
		}
		return fmt.Sprintf("<answer id=\"%d\" time=\"%s\">%s</answer>", m.Seq, at, content(lean(m.Text), most))
	}
}

// lean is a text without what no summary shall hold: secrets, and data written out
// in letters.
func lean(text string) string { return withoutData(secrets.Mask(text)) }

func isBase64(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '+' || c == '/' || c == '='
}

// mostOfData is how many characters of base64 or hex may stand in one piece: no word,
// hash or address is as long.
const mostOfData = 300

func withoutData(text string) string {
	if len(text) < mostOfData {
		return text
	}
	var b strings.Builder
	done, begun := 0, 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && isBase64(text[i]) {
			continue
		}
		if i-begun > mostOfData {
			b.WriteString(text[done:begun])
			fmt.Fprintf(&b, "[data: %d characters]", i-begun)
			done = i
		}
		begun = i + 1
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

func itemOf(c Compaction) item {
	text := fmt.Sprintf("<summary from=\"%d\" to=\"%d\" dates=\"%s\">%s</summary>", c.From, c.To, days(c), content(secrets.Mask(c.Text), mostOfMessage))
	return item{text: text, tokens: perMessage + Estimate(text), turn: c.From, from: c.From, to: c.To}
}

// omitted says that something stands there which the model will not summarize.
func omitted(c Compaction) item {
	text := fmt.Sprintf("<omitted from=\"%d\" to=\"%d\" dates=\"%s\"/>", c.From, c.To, days(c))
	return item{text: text, tokens: perMessage + Estimate(text), turn: c.From, from: c.From, to: c.To}
}

var (
	escapeContent   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	escapeAttribute = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
)

func content(text string, most int) string {
	return escapeContent.Replace(breakRoles(Clip(text, most)))
}

// attribute is a text in one line.
func attribute(text string) string {
	return escapeAttribute.Replace(breakRoles(strings.Map(func(r rune) rune {
		if endsLine(r) {
			return ' '
		}
		return r
	}, text)))
}

// chunks cuts items into runs of at most most tokens, never inside a turn unless
// the turn alone is larger.
func chunks(items []item, most int) [][]item {
	var out [][]item
	start, tokens := 0, 0
	for i := 0; i < len(items); {
		j, cost := i, 0
		for j < len(items) && items[j].turn == items[i].turn && (j == i || cost+items[j].tokens <= most) {
			cost += items[j].tokens
			j++
		}
		if i > start && tokens+cost > most {
			out = append(out, items[start:i])
			start, tokens = i, 0
		}
		tokens += cost
		i = j
	}
	if start < len(items) {
		out = append(out, items[start:])
	}
	return out
}

// transcript is the material of one request.
func transcript(items []item) string {
	var b strings.Builder
	b.WriteString("<transcript>\n")
	for _, it := range items {
		b.WriteString(it.text)
		b.WriteByte('\n')
	}
	b.WriteString("</transcript>")
	return b.String()
}
