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

// checkRecords reads all files and counts their messages, so that nothing is imported if there is
// any mistake. A message may occur more than once. Because each file is read twice, it cannot be a
// pipe.
func checkRecords(files []string) (total int, err error) {
	type place struct {
		at      string
		content [sha256.Size]byte
	}
	seen := map[string]place{} // by id
	for _, file := range files {
		for l, err := range readRecords(file) {
			if err != nil {
				return 0, err
			}
			content := fingerprint(l.value)
			earlier, again := seen[l.value.ID]
			if again && earlier.content != content {
				return 0, l.wrong(fmt.Errorf("the id %q names another message in %s: an id names one message of a channel", l.value.ID, earlier.at))
			}
			if !again {
				seen[l.value.ID] = place{fmt.Sprintf("%s:%d", file, l.number), content}
			}
			total++
		}
	}
	return total, nil
}

// fingerprint identifies the content of a record; the same moment in another time zone is equal.
func fingerprint(r record) [sha256.Size]byte {
	r.Time = r.Time.UTC()
	return sha256.Sum256(fmt.Appendf(nil, "%#v", r))
}

// readRecords yields the messages of a file. An error, which names file and line, comes last.
func readRecords(path string) iter.Seq2[line[record], error] {
	return func(yield func(line[record], error) bool) {
		for l, err := range readLines[record](path) {
			if err == nil {
				err = l.value.check()
				if err != nil {
					err = l.wrong(err)
				}
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

// record is one recorded message. Unknown keys are ignored: exports contain more than an import
// needs.
type record struct {
	ID          string            `json:"id"`
	Time        time.Time         `json:"time"`
	Author      string            `json:"author"`
	Text        string            `json:"text"`
	Attachments []chat.Attachment `json:"attachments"`
}

// check returns an error that names what is missing.
func (r record) check() error {
	switch {
	case r.ID == "":
		return errors.New(`"id" is missing: without it a message would be imported twice`)
	case strings.TrimSpace(r.Author) == "":
		return errors.New(`"author" is missing`)
	case r.Time.IsZero():
		return errors.New(`"time" is missing`)
	case strings.TrimSpace(r.Text) == "" && len(r.Attachments) == 0:
		return errors.New(`"text" is missing, and there are no attachments`)
	}
	return nil
}

func (r record) message() channel.Inbound {
	return channel.Inbound{ID: r.ID, AuthorID: r.Author, Author: r.Author, Text: r.Text, Attachments: r.Attachments, Time: r.Time}
}
