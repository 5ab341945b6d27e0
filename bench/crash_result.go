package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// crashes is the result.
type crashes struct {
	Kills        int            `json:"kills"`
	At           map[string]int `json:"at"` // kills, by what was going on; several things may be
	Said         int            `json:"said"`
	Accepted     int            `json:"accepted"`
	Lost         int            `json:"lost"`
	Addressed    int            `json:"addressed"`
	Unanswered   int            `json:"unanswered"`
	Twice        int            `json:"answered_twice"`
	Notices      int            `json:"answered_by_a_notice"`
	Repeated     int            `json:"replies_repeated_under_their_id"`
	Forgotten    int            `json:"said_by_somebody_who_had_it_deleted"`
	Examinations int            `json:"examinations"`
	Requests     int64          `json:"requests"`
	Summaries    int64          `json:"requests_for_summaries"`
	Done         map[string]int `json:"done"`
	Wrong        []string       `json:"wrong"`
	Seconds      float64        `json:"seconds"`
}

func (h *havoc) result(took time.Duration) (r crashes, err error) {
	r = crashes{
		Kills: h.kills, At: h.at, Said: len(h.clients.said), Repeated: h.clients.repeated, Examinations: h.lookout.examinations,
		Requests: h.oracle.answers.Load(), Summaries: h.oracle.works.Load(), Seconds: took.Seconds(),
	}
	for _, u := range h.clients.said {
		if u.accepted {
			r.Accepted++
		}
		if u.forgotten {
			r.Forgotten++
			continue
		}
		if !u.addressed {
			continue
		}
		r.Addressed++
		switch {
		case len(u.answers) == 0:
			r.Unanswered++
		case len(u.answers) > 1:
			r.Twice++
			h.clients.wrong = append(h.clients.wrong, fmt.Sprintf("%s in %s was answered by %q", u.id, u.channel, u.answers))
		case !strings.HasPrefix(u.answers[0], "reply-"):
			r.Notices++
		}
	}
	for _, what := range h.clients.wrong {
		if strings.HasSuffix(what, "is lost") {
			r.Lost++
		}
	}
	r.Wrong = append([]string{}, h.clients.wrong...)
	r.Done, err = deeds(filepath.Join(h.dir, "copy"))
	return r, err
}

// table is the result as people read it.
func (r crashes) table(s *screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  the program was killed %s times in %.0f s, and %s messages were said to it\n\n",
		s.paint(bold, "crashes"), thousands(r.Kills), r.Seconds, thousands(r.Said))
	for _, row := range []struct {
		name string
		n    int
		bad  bool
	}{
		{"messages accepted", r.Accepted, false},
		{"  of them lost", r.Lost, true},
		{"messages that asked for an answer", r.Addressed, false},
		{"  answered by words on a failure", r.Notices, false},
		{"  answered twice", r.Twice, true},
		{"  never answered", r.Unanswered, true},
		{"replies repeated under their id", r.Repeated, false},
		{"examinations of the database", r.Examinations, false},
		{"  things found wrong", len(r.Wrong), true},
	} {
		color := bold
		if row.bad {
			color = green
			if row.n > 0 {
				color = red
			}
		}
		fmt.Fprintf(&b, "%s%s\n", left(row.name, 46), s.paint(color, right(thousands(row.n), 8)))
	}
	list := func(title string, counts map[string]int) {
		fmt.Fprintf(&b, "\n%s\n", s.paint(dim, title))
		var names []string
		most := 0
		for name, n := range counts {
			names, most = append(names, name), max(most, n)
		}
		slices.SortFunc(names, func(x, y string) int { return cmp.Or(counts[y]-counts[x], strings.Compare(x, y)) })
		for _, name := range names {
			fmt.Fprintf(&b, "%s%s  %s\n", left(name, 46), right(thousands(counts[name]), 8), s.paint(cyan, bar(float64(counts[name]), float64(most), 20)))
		}
	}
	list("kills when … (several may be true)", r.At)
	list("what was done meanwhile", r.Done)
	for _, what := range r.Wrong {
		fmt.Fprintln(&b, s.paint(red, "wrong: "+what))
	}
	return b.String()
}
