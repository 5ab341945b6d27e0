package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"cairn/store"
)

const (
	restEvery       = 50               // kills on a platform between two comparisons with it
	beyondReview    = 50               // newer messages behind which a deletion is not found that was made while nothing ran: see docs/discord.md
	whileDead       = 4                // things that people do at most, less one, before the next process
	platformRest    = 4 * time.Minute  // what a process may take to do everything; some deletions are applied after one
	lookEvery       = time.Second / 2  // whether it has
	stoppedBySignal = 143              // the exit code after SIGTERM
	shutdown        = 30 * time.Second // what it may take to stop
)

// begin has the first process answer in each place.
func (h *crashRun) begin(ctx context.Context) error {
	p, err := h.start(ctx)
	if err != nil {
		return err
	}
	defer p.crash()
	for !h.up() {
		if err := sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
	h.people.begin()
	return h.settle(ctx, p)
}

// compare has a process do all there is to do, stops it, and compares what it leaves with the platform.
func (h *crashRun) compare(ctx context.Context) error {
	h.oracle.healthy.Store(true)
	defer h.oracle.healthy.Store(false)
	p, err := h.start(ctx)
	if err != nil {
		return err
	}
	defer p.crash()
	if err := h.settle(ctx, p); err != nil || len(h.clients.violations) > 0 {
		return err
	}
	_ = p.Process.Signal(syscall.SIGTERM) // it may already have ended
	select {
	case <-p.ended:
	case <-time.After(shutdown):
	}
	p.crash()
	if code := p.ProcessState.ExitCode(); code != stoppedBySignal {
		h.clients.report("the last process ended with %d: %s", code, p.stderrTail())
	}
	for _, wrong := range askDoctor(h.command(ctx, "doctor", "--json")) {
		h.clients.report("%s", wrong)
	}
	h.clients.mu.Lock()
	defer h.clients.mu.Unlock()
	if _, err := h.examiner.examine(ctx, filepath.Join(h.dir, "data"), filepath.Join(h.dir, "copy")); err != nil {
		return err
	}
	return h.differLocked(ctx, "data", func(what string) { h.clients.violationLocked("at rest %s", what) })
}

// settle waits until nothing differs from the platform, or records what does.
func (h *crashRun) settle(ctx context.Context, p *crashProcess) error {
	end := time.Now().Add(platformRest)
	for {
		var all []string
		h.clients.mu.Lock()
		err := h.differLocked(ctx, "data", func(what string) { all = append(all, what) })
		h.clients.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && len(all) == 0 && h.up(): // before that, SIGTERM would kill it
			h.acceptAll()
			return nil
		case time.Now().After(end) && err != nil:
			return err
		case time.Now().After(end):
			for _, what := range all {
				h.clients.report("after %v %s", platformRest, what)
			}
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("the last process ended by itself: %s", p.stderrTail())
		case <-time.After(lookEvery):
		}
	}
}

// acceptAll notes that all that was said is in the database.
func (h *crashRun) acceptAll() {
	h.clients.mu.Lock()
	defer h.clients.mu.Unlock()
	for _, u := range h.clients.said {
		u.accepted = true
	}
}

// differLocked reports what differs between the database in a folder, which a process may be using, and the platform.
func (h *crashRun) differLocked(ctx context.Context, folder string, report func(what string)) error {
	db, err := sql.Open("sqlite3", store.File(filepath.Join(h.dir, folder))+"?_query_only=1")
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	d := difference{h.people, tx, report}
	return errors.Join(d.pending(), d.transcript(), d.answers())
}

// afterKillLocked has people do something before the next process, and returns whether a reply is on the platform that the copy of
// the database does not know: part of it, or one that was sent and not noted.
func (h *crashRun) afterKillLocked(ctx context.Context) (shown bool, err error) {
	err = h.differLocked(ctx, "copy", func(what string) { shown = shown || strings.Contains(what, unknownAnswer) })
	for range h.random.IntN(whileDead) {
		h.people.actLocked()
	}
	return shown, err
}

const unknownAnswer = "is on the platform, and Cairn does not know it"

// difference is what the database and the platform differ in.
type difference struct {
	*people
	db     *sql.Tx
	report func(what string)
}

func (d difference) pending() error {
	for _, m := range moments[:4] { // messages, turns and replies
		var there bool
		if err := d.db.QueryRow(m.query).Scan(&there); err != nil {
			return err
		}
		if there {
			d.report(m.name)
		}
	}
	return nil
}

// transcript compares the messages of people.
func (d difference) transcript() error {
	rows, err := d.db.Query(`SELECT platform_id, text FROM messages WHERE role = 'user' AND deleted_at IS NULL ORDER BY id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	there := map[string]bool{}
	last := map[string]string{} // the latest message, by place
	d.behind = 0
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		there[id] = true
		u := d.clients.byID[id]
		switch {
		case u == nil:
			d.report(fmt.Sprintf("%s is in the transcript, and nobody said it", id))
			continue
		case u.forgotten && d.newer(u) > beyondReview:
			d.behind++
			continue
		case u.forgotten:
			d.report(fmt.Sprintf("%s was deleted and is in the transcript", u))
			continue
		case text != u.text:
			d.report(fmt.Sprintf("%s says %.60q in the transcript", u, text))
		case last[u.channel] > id:
			d.report(fmt.Sprintf("%s comes after %s", u, last[u.channel]))
		}
		last[u.channel] = id
	}
	for _, u := range d.clients.said {
		if !there[u.id] && !u.forgotten {
			d.report(fmt.Sprintf("%s is lost", u))
		}
	}
	return rows.Err()
}

// newer counts the messages after one in its place.
func (d difference) newer(than *remark) (n int) {
	for _, u := range d.clients.said[slices.Index(d.clients.said, than)+1:] {
		if u.channel == than.channel {
			n++
		}
	}
	return n
}

// answers compares the messages of the bot, and notes whom each answers.
func (d difference) answers() error {
	rows, err := d.db.Query(`SELECT o.reply, o.part, o.parts, o.answers, o.platform_id, coalesce(m.text, '') FROM outbox o
		LEFT JOIN messages m ON m.conversation = o.conversation AND m.role = 'assistant' AND m.platform_id = o.reply WHERE o.state = 'sent'`)
	if err != nil {
		return err
	}
	defer rows.Close()
	posted := d.posted()
	for _, u := range d.clients.said {
		u.answers = nil
	}
	for rows.Next() {
		var reply, answers, id, text string
		var part, parts int
		if err := rows.Scan(&reply, &part, &parts, &answers, &id, &text); err != nil {
			return err
		}
		shown, there := posted[id]
		delete(posted, id)
		var to []string
		err := json.Unmarshal([]byte(answers), &to)
		switch {
		case err != nil:
			return err
		case !there:
			d.report(fmt.Sprintf("%s was sent as %s, and is not on the platform", reply, id))
		case part > 0:
			continue
		case parts == 1 && text != "" && shown != text:
			d.report(fmt.Sprintf("%s is %.60q on the platform, and %.60q in the transcript", reply, shown, text))
		}
		for _, question := range to {
			if u := d.clients.byID[question]; u != nil {
				u.answers = append(u.answers, reply)
			}
		}
	}
	for id, text := range posted {
		d.report(fmt.Sprintf("%s %s: %.60q", id, unknownAnswer, text))
	}
	for _, u := range d.clients.said {
		switch {
		case u.addressed && !u.forgotten && len(u.answers) == 0:
			d.report(fmt.Sprintf("%s has no answer", u))
		case len(u.answers) > 1:
			d.report(fmt.Sprintf("%s was answered by %s", u, strings.Join(u.answers, ", ")))
		}
	}
	return rows.Err()
}

func (u *remark) String() string {
	name, _, _ := strings.Cut(u.text, ":")
	return name + " in " + u.channel + " (" + u.id + ")"
}
