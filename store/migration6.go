// Migration 6 finds what the results of tools quote, in a database whose tools did not name it.

package store

import (
	"database/sql"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/llm"
)

// fillQuotes stores the quotes of all results of tools.
func fillQuotes(tx *Tx) {
	eachRow(tx, func(rows *sql.Rows) error {
		var id int64
		var tool, text string
		err := rows.Scan(&id, &tool, &text)
		ms := Messages{handle{id: id >> 32}, tx}
		ms.addQuotes(id, parseQuotes(tool, text))
		return err
	}, `SELECT id, tool, text FROM messages
		WHERE role = 'tool' AND tool IN ('memory_search', 'recall', 'expand', 'memory_save') AND deleted_at IS NULL`)
	tx.do("DROP INDEX messages_copies")
}

// parseQuotes returns what the text of a tool's result quotes.
func parseQuotes(tool, text string) (q llm.Quotes) {
	if tool == "memory_save" {
		for _, found := range quotedMemory.FindAllStringSubmatch(text, -1) {
			if id, err := strconv.ParseInt(found[1], 10, 64); err == nil { // otherwise it is part of a quote
				q.Memories = append(q.Memories, id)
			}
		}
		return q
	}
	if !strings.HasPrefix(text, "{") { // an error message
		return q
	}
	var found struct {
		Messages []struct {
			Seq int64 `json:"seq"`
		} `json:"messages"`
		Memories []struct {
			ID       int64   `json:"id"`
			Messages []int64 `json:"messages"`
		} `json:"memories"`
	}
	if json.Unmarshal([]byte(text), &found) != nil {
		return llm.Quotes{Messages: []int64{unknown}, Memories: []int64{unknown}}
	}
	for _, m := range found.Messages {
		q.Messages = append(q.Messages, m.Seq)
	}
	for _, m := range found.Memories {
		q.Messages = append(q.Messages, m.Messages...)
		q.Memories = append(q.Memories, m.ID)
	}
	none := func(number int64) bool { return number <= 0 }
	q.Messages = slices.DeleteFunc(q.Messages, none)
	q.Memories = slices.DeleteFunc(q.Memories, none)
	return q
}

// quotedMemory matches a memory in a result of memory_save.
var quotedMemory = regexp.MustCompile(`(?i)\bmemory (\d+)(?: says)?: "`)
