package main

import (
	"strings"
	"time"
)

// crashes is the result.
type crashes struct {
	Kills      int            `json:"kills"`
	At         map[string]int `json:"at"` // kills by what was going on; one kill may count more than once
	Said       int            `json:"said"`
	Accepted   int            `json:"accepted"`
	Lost       int            `json:"lost"`
	Addressed  int            `json:"addressed"`
	Unanswered int            `json:"unanswered"`
	Twice      int            `json:"answered_twice"`
	Notices    int            `json:"answered_by_a_notice"`
	Behind     int            `json:"deletions_behind_50_newer"` // on a platform: made while nothing ran, and not found, as documented
	Wrong      []string       `json:"wrong"`
	Folder     string         `json:"folder,omitempty"` // kept for debugging
	Seconds    float64        `json:"seconds"`
	targets
}

func (h *crashRun) result(took time.Duration) (r crashes) {
	r = crashes{Kills: h.kills, At: h.at, Said: len(h.clients.said), Seconds: took.Seconds()}
	if h.people != nil {
		r.Behind = h.people.behind
	}
	for _, u := range h.clients.said {
		if u.accepted {
			r.Accepted++
		}
		compared := h.people == nil || u.accepted
		if u.forgotten || !u.addressed || !compared {
			continue
		}
		r.Addressed++
		switch {
		case len(u.answers) == 0:
			r.Unanswered++
		case len(u.answers) > 1:
			r.Twice++
			if h.people == nil { // otherwise the comparison has reported it
				h.clients.violationLocked("%s in %s was answered by %q", u.id, u.channel, u.answers)
			}
		case !strings.HasPrefix(u.answers[0], "reply-"):
			r.Notices++
		}
	}
	for _, what := range h.clients.violations {
		if strings.HasSuffix(what, "is lost") {
			r.Lost++
		}
	}
	r.Wrong = append([]string{}, h.clients.violations...)
	if len(r.Wrong) > 0 {
		r.Folder = h.dir
	}
	r.Targets = []goal{
		zero("messages lost", r.Lost), zero("questions without an answer", r.Unanswered), zero("questions answered twice", r.Twice),
		zero("things found wrong", len(r.Wrong)),
	}
	return r
}
