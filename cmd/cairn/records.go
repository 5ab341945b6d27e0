// Recorded messages in a file of JSON Lines.

package main

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"cairn/channel"
	"cairn/chat"
)

// readRecords returns the messages of all files, in order. A message may occur more than once.
func (a *app) readRecords(files []string) (all []channel.Inbound, err error) {
	first := map[string]line[record]{} // by id
	var newest line[record]
	for _, file := range files {
		lines, err := readLines[record](file, a.in)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if err := l.value.check(); err != nil {
				return nil, l.wrong(err)
			}
			earlier, again := first[l.value.ID]
			switch {
			case !again && l.value.Time.Before(newest.value.Time):
				return nil, l.wrong(fmt.Errorf(`"time" is before that of %s:%d: sort the messages, oldest first`, newest.file, newest.number))
			case !again:
				first[l.value.ID], newest = l, l
			case !earlier.value.same(l.value):
				return nil, l.wrong(fmt.Errorf("the id %q names another message in %s:%d: an id names one message of a channel", l.value.ID, earlier.file, earlier.number))
			}
			all = append(all, l.value.message())
		}
	}
	return all, nil
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
	case r.Time.After(time.Now().Add(24 * time.Hour)): // clocks differ
		return fmt.Errorf(`"time" is in the future, in %d: correct it`, r.Time.Year())
	case strings.TrimSpace(r.Text) == "" && len(r.Attachments) == 0:
		return errors.New(`"text" is missing, and there are no attachments`)
	}
	return nil
}

// same reports whether two records are equal; the same moment in another time zone is.
func (r record) same(other record) bool {
	r.Time, other.Time = r.Time.UTC(), other.Time.UTC()
	return reflect.DeepEqual(r, other)
}

func (r record) message() channel.Inbound {
	return channel.Inbound{ID: r.ID, AuthorID: r.Author, Author: r.Author, Text: r.Text, Attachments: r.Attachments, Time: r.Time}
}
