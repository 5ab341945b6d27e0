// A whole conversation as a file, for people and programs. It is written while it is read: a conversation may be long.

package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"cairn/chat"
	"cairn/internal/lazy"
	"cairn/llm"
	"cairn/store"
)

// exporter writes a conversation in one format.
type exporter interface {
	begin(w io.Writer, name, called string)
	message(w io.Writer, m chat.Message)
	end(w io.Writer, summaries []store.ListedCompaction)
}

const exportPage = 500 // messages

func (c *rooms) export(w http.ResponseWriter, r *request) error {
	ctx := r.Context()
	name := r.conversation.Name()
	called, err := r.conversation.Transcript().Called(ctx)
	if err != nil {
		return err
	}
	summaries, _, err := c.store.Compactions(ctx, store.CompactionFilter{Conversation: name, Applied: true})
	if err != nil {
		return err
	}
	var to exporter = &jsonExport{}
	kind := "application/json"
	extension := "json"
	if r.Get("format") == "markdown" {
		to = markdownExport{}
		kind = "text/markdown; charset=utf-8"
		extension = "md"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(called) + "." + extension}))
	out := bufio.NewWriter(w)
	to.begin(out, name, called)
	if err := exportMessages(ctx, r.conversation, func(m chat.Message) { to.message(out, m) }); err != nil {
		slog.DebugContext(ctx, "export_ended", "conversation", name, "error", err)
		panic(http.ErrAbortHandler) // half a file must not look like a whole one
	}
	to.end(out, summaries)
	_ = out.Flush() // the client may be gone
	return nil
}

// exportMessages calls a function with each message of a conversation, oldest first.
func exportMessages(ctx context.Context, c *store.Conversation, do func(chat.Message)) error {
	from := int64(1)
	for {
		page, err := c.Transcript().Page(ctx, from, exportPage)
		if err != nil {
			return err
		}
		for _, m := range page {
			do(m)
			from = m.Seq + 1
		}
		if len(page) < exportPage {
			return nil
		}
	}
}

var unfitForFiles = lazy.Pattern(`[^\pL\pM\pN._ -]+`)

// fileName returns a name that every file system takes.
func fileName(called string) string {
	name := strings.Trim(unfitForFiles().ReplaceAllString(called, "-"), " .-")
	return strings.ToValidUTF8(name[:min(len(name), 100)], "")
}

type jsonExport struct{ messages int }

func (e *jsonExport) begin(w io.Writer, name, called string) {
	fmt.Fprintf(w, `{"channel":%s,"name":%s,"exported_at":%s,"messages":[`, encoded(name), encoded(called), encoded(time.Now().UTC()))
}

func (e *jsonExport) message(w io.Writer, m chat.Message) {
	if e.messages > 0 {
		fmt.Fprint(w, ",")
	}
	e.messages++
	fmt.Fprintf(w, "\n%s", encoded(chat.RecordOf(m)))
}

func (e *jsonExport) end(w io.Writer, summaries []store.ListedCompaction) {
	fmt.Fprintf(w, "\n],\"compactions\":%s}\n", encoded(listOf(summaries)))
}

// markdownExport has a heading for each message. Results of tools are only in JSON.
type markdownExport struct{}

func (markdownExport) begin(w io.Writer, name, called string) {
	fmt.Fprintf(w, "# %s\n\n%s, exported %s\n", chat.OneLine(called), name, chat.ZonedTime(time.Now()))
}

// ownHeading matches a line that looks like the heading of a message.
var ownHeading = lazy.Pattern(`(?m)^( {0,3})(#+ .* · #\d+)`)

func (markdownExport) message(w io.Writer, m chat.Message) {
	who := chat.OneLine(m.Author)
	if m.Role == llm.RoleAssistant {
		who = string(m.Role)
	}
	parts := []string{}
	if text := strings.TrimSpace(m.Text); text != "" {
		parts = append(parts, text)
	}
	for _, a := range m.Attachments {
		parts = append(parts, a.Words())
	}
	if m.Role == llm.RoleTool || len(parts) == 0 {
		return
	}
	text := ownHeading().ReplaceAllString(strings.Join(parts, "\n\n"), `$1\$2`) // no text can imitate another message
	fmt.Fprintf(w, "\n## %s · %s · #%d\n\n%s\n", who, chat.Time(m.Time), m.Seq, text)
}

func (markdownExport) end(w io.Writer, summaries []store.ListedCompaction) {
	for _, s := range summaries {
		fmt.Fprintf(w, "\n*Messages #%d to #%d were summarized for the model on %s.*\n", s.From, s.To, s.Time.Format("2 January 2006"))
	}
}
