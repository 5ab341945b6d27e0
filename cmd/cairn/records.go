// Recorded messages in a file of JSON Lines.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"cairn/channel"
	"cairn/chat"
)

// record is one recorded message and its place.
type record struct {
	channel.Inbound
	line int
}

// checkRecords reads all files and counts their messages, so that nothing is imported if anything
// is wrong. A message may occur more than once. Each file is read twice, so it cannot be a pipe.
func checkRecords(files []string) (total int, err error) {
	type place struct {
		at      string
		content [sha256.Size]byte
	}
	seen := map[string]place{} // by id
	for _, file := range files {
		for r, err := range readRecords(file) {
			if err != nil {
				return 0, err
			}
			at := fmt.Sprintf("%s:%d", file, r.line)
			content := fingerprint(r.Inbound)
			earlier, again := seen[r.ID]
			if again && earlier.content != content {
				return 0, fmt.Errorf("%s: the id %q names another message in %s: an id names one message of a channel", at, r.ID, earlier.at)
			}
			if !again {
				seen[r.ID] = place{at, content}
			}
			total++
		}
	}
	return total, nil
}

// fingerprint distinguishes messages. The same moment in another time zone is the same.
func fingerprint(m channel.Inbound) [sha256.Size]byte {
	m.Time = m.Time.UTC()
	return sha256.Sum256(fmt.Appendf(nil, "%#v", m))
}

// readRecords yields the messages of a file. An error, which names file and line, comes last.
func readRecords(path string) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for l, err := range readLines(path) {
			if err != nil {
				yield(record{}, err)
				return
			}
			message, err := parseRecord(l.text)
			if err != nil {
				err = fmt.Errorf("%s:%d: %w", path, l.number, err)
			}
			if !yield(record{message, l.number}, err) || err != nil {
				return
			}
		}
	}
}

// parseRecord reads one line. It ignores unknown keys: exports contain more than an import needs.
func parseRecord(line []byte) (channel.Inbound, error) {
	var r struct {
		ID          string            `json:"id"`
		Time        time.Time         `json:"time"`
		Author      string            `json:"author"`
		Text        string            `json:"text"`
		Attachments []chat.Attachment `json:"attachments"`
	}
	err := parseLine(line, &r)
	switch {
	case err != nil:
	case r.ID == "":
		err = errors.New(`"id" is missing: without it a message would be imported twice`)
	case strings.TrimSpace(r.Author) == "":
		err = errors.New(`"author" is missing`)
	case r.Time.IsZero():
		err = errors.New(`"time" is missing`)
	case strings.TrimSpace(r.Text) == "" && len(r.Attachments) == 0:
		err = errors.New(`"text" is missing, and there are no attachments`)
	}
	return channel.Inbound{
		ID: r.ID, AuthorID: r.Author, Author: r.Author, Text: r.Text, Attachments: r.Attachments, Time: r.Time,
	}, err
}
