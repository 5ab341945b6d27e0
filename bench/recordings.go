package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"cairn/simulate"
	"cairn/store"
)

const recordingsHelp = `DIR holds conversations, one JSON object per line: NAME.jsonl has the messages (id, time, author,
text, attachments with captions), NAME.qa.jsonl the questions about them (question, answer,
evidence: the ids of the messages that answer it, category: 1 several messages, 2 time,
3 general knowledge too, 4 one message, 5 no answer).`

// recording is a recorded conversation with questions about it.
type recording struct {
	name  string
	said  []store.Inbound // their seqs are their positions, from 1
	asked []asked
}

// asked is one question about a recording.
type asked struct {
	simulate.Question
	seqs []int64 // seqs of the evidence that is in the recording, without duplicates
}

// hasAnswer reports whether messages of the recording answer the question.
func (q asked) hasAnswer() bool { return q.Category != simulate.NoAnswer && len(q.seqs) > 0 }

// readRecordings reads all recordings of a folder, sorted by name.
func readRecordings(dir string) ([]recording, error) {
	all, err := recordingsIn(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("read the recordings of %s: %w\n%s", dir, err, recordingsHelp)
	}
	return all, nil
}

func recordingsIn(dir fs.FS) (all []recording, err error) {
	files, err := fs.Glob(dir, "*.qa.jsonl")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("there is no NAME.qa.jsonl")
	}
	for _, file := range files {
		r := recording{name: strings.TrimSuffix(file, ".qa.jsonl")}
		r.said, err = readLines[store.Inbound](dir, r.name+".jsonl")
		if err != nil {
			return nil, err
		}
		r.asked, err = readLines[asked](dir, file)
		if err != nil {
			return nil, err
		}
		r.resolve()
		all = append(all, r)
	}
	return all, nil
}

// readLines reads a file of JSON Lines.
func readLines[T any](dir fs.FS, name string) (list []T, err error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	decoder := json.NewDecoder(file)
	for {
		var v T
		switch err := decoder.Decode(&v); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("%s, object %d: %w", name, len(list)+1, err)
		}
		list = append(list, v)
	}
}

// resolve looks up the seqs of the evidence, and names the people by their names.
func (r *recording) resolve() {
	place := make(map[string]int64, len(r.said))
	for i := range r.said {
		place[r.said[i].ID] = int64(i + 1)
		r.said[i].AuthorID = r.said[i].Author
	}
	for i := range r.asked {
		r.asked[i].seqs = r.asked[i].Seqs(place)
	}
}
