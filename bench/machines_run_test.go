package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn/store"
	"cairn/store/postgres"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
)

// TestFleet kills the process that receives messages: the other one answers.
func TestFleet(t *testing.T) {
	check.SkipUnderRace(t)
	if testing.Short() {
		t.Skip("it builds the program and kills it")
	}
	t.Parallel()
	r, _ := ranAs[fleetResult](t, "machines", "--processes", "2", "--conversations", "8", "--rate", "4", "--minutes", "0.1", "--faults", "kill",
		"--postgres", pgtest.New(t).Address("postgres"))
	check.EqualAll(t, "what is wrong", r.Wrong, nil)
	check.That(t, len(r.Faults) == 1 && r.Asked > 15 && r.Answered == r.Asked && len(r.Gaps) > 1 && r.Speed > 0 && r.CPU > 0, "%+v", r)
}

// TestUpgradeOfAFleet replaces one build by another in all processes.
func TestUpgradeOfAFleet(t *testing.T) {
	check.SkipUnderRace(t)
	if testing.Short() {
		t.Skip("it builds the program and upgrades it")
	}
	t.Parallel()
	other := filepath.Join(t.TempDir(), "cairn")
	check.NoError(t, compileCairn(t.Context(), other))
	starts := filepath.Join(filepath.Dir(other), "starts") // of the other build
	script := other + ".sh"
	check.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho $1 >> "+starts+"\nexec "+other+" \"$@\"\n"), 0o700))
	r, _ := ranAs[fleetResult](t, "machines", "--processes", "2", "--conversations", "8", "--rate", "4", "--minutes", "0.2", "--faults", "upgrade",
		"--with", script, "--postgres", pgtest.New(t).Address("postgres"))
	check.EqualAll(t, "what is wrong", r.Wrong, nil)
	check.That(t, len(r.Faults) == 1 && r.Asked > 30 && r.Answered == r.Asked, "%+v", r)
	check.Equal(t, "what the other build was started for", string(check.Must(os.ReadFile(starts))(t)), "chat\nrun\nrun\n")
}

// TestAnswersAreCompared seeds what must not happen into what people see.
func TestAnswersAreCompared(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }
	asked := []question{{1, "discord", "a", at(0)}, {2, "discord", "a", at(1)}, {3, "slack", "b", at(2)}}
	faults := []injected{{Kind: "freeze", began: at(3), ended: at(60)}}
	one := shown{id: "1", text: "The answer to q1: yes", at: at(1)}
	two := shown{id: "2", text: "The answer to q2: no", at: at(2)}
	three := shown{id: "3", text: "The answer to q3: yes", at: at(3)}
	for name, test := range map[string]struct {
		a, b []shown
		want string // what is wrong: lost, twice, after a freeze, out of order, strange, notices
	}{
		"nothing":                       {a: []shown{one, two}, b: []shown{three}, want: "0 0 0 0 0 0"},
		"one answer for two":            {a: []shown{{id: "1", text: "The answer to q1 and q2: yes", at: at(2)}}, b: []shown{three}, want: "0 0 0 0 0 0"},
		"a lost answer":                 {a: []shown{one}, b: []shown{three}, want: "1 0 0 0 0 0"},
		"a doubled answer":              {a: []shown{one, two, two}, b: []shown{three}, want: "0 1 0 0 0 0"},
		"a doubled answer in one":       {a: []shown{one, {id: "2", text: "The answer to q1 and q2: yes", at: at(2)}}, b: []shown{three}, want: "0 1 0 0 0 0"},
		"one more after a freeze":       {a: []shown{one, two}, b: []shown{three, {id: "4", text: three.text, at: at(61)}}, want: "0 0 1 0 0 0"},
		"one more long after a freeze":  {a: []shown{one, two}, b: []shown{three, {id: "4", text: three.text, at: at(99)}}, want: "0 1 0 0 0 0"},
		"a doubled answer, deleted":     {a: []shown{one, two, {id: "3", text: two.text, at: at(3), deleted: true}}, b: []shown{three}, want: "0 0 0 0 0 0"},
		"a deleted answer":              {a: []shown{one, {id: "2", text: two.text, at: at(2), deleted: true}}, b: []shown{three}, want: "1 0 0 0 0 0"},
		"swapped answers":               {a: []shown{two, one}, b: []shown{three}, want: "0 0 0 1 0 0"},
		"an answer elsewhere":           {a: []shown{one, two, three}, b: []shown{three}, want: "0 0 0 0 1 0"},
		"an answer to nobody":           {a: []shown{one, two, {id: "4", text: "The answer to q9: no", at: at(3)}}, b: []shown{three}, want: "0 0 0 0 1 0"},
		"words about a failure instead": {a: []shown{one, {id: "2", text: "The model does not answer.", at: at(2)}}, b: []shown{three}, want: "1 0 0 0 0 1"},
	} {
		v := compareAnswers(asked, map[string][]shown{"discord:a": test.a, "slack:b": test.b}, faults)
		got := fmt.Sprint(len(v.lost), len(v.twice), len(v.frozen), len(v.disorder), len(v.strange), len(v.notices))
		check.Equal(t, name, got, test.want)
	}
	check.EqualAll(t, "the transcript", unevenly(asked, []string{"q1: a", "q3: b", "q3: b"}), []string{
		"q2 of discord:a is in the transcript 0 times", "q3 of slack:b is in the transcript 2 times",
	})
}

// TestGaps: a question belongs to the fault during which it was asked or answered.
func TestGaps(t *testing.T) {
	start := time.Now()
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	faults := []injected{
		{Kind: "kill", Process: 7, Received: true, began: at(1), ended: at(1)}, {Kind: "kill", Process: 8, began: at(30), ended: at(30)},
	}
	gaps := gapsOf([]question{{n: 1, at: at(0)}, {n: 2, at: at(0.5)}, {n: 3, at: at(20)}, {n: 4, at: at(31)}, {n: 5, at: at(60)}},
		map[int]time.Time{1: at(0.5), 2: at(7.5), 3: at(21), 4: at(32)}, faults)
	var got []string
	for _, g := range gaps {
		got = append(got, fmt.Sprintf("%s %d %v", g.After, g.Questions, g.Max))
	}
	check.EqualAll(t, "the gaps", got, []string{"all 4 7000", "nothing 2 1000", "kill 1 7000", "kill of a process that stands by 1 1000"})
	r := fleetResult{Gaps: gaps}
	r.judge()
	check.NoError(t, unmet(r.Targets))
	r.Gaps[2].Max = ms(killGap) + 1
	r.Targets = nil
	r.judge()
	check.ErrorContains(t, "the targets", unmet(r.Targets), "longest gap after a kill")
	check.ErrorContains(t, "the result", fleetResult{Wrong: []string{"q1 was lost"}}.failure(), "q1 was lost")
}

// TestGuard has a process write where another one owns the conversation, and processes take conversations in wrong ways.
func TestGuard(t *testing.T) {
	ctx := t.Context()
	c := pgtest.New(t)
	g := check.Must(newGuard(ctx, c.Address("postgres")))(t)
	defer g.db.Close()
	check.NoError(t, makeSchema(ctx, c.Address("postgres")))
	check.NoError(t, g.watch(ctx))
	data := check.Must(store.Open(ctx, store.Options{Postgres: c.Address("postgres"), Schema: fleetSchema}))(t)
	defer data.Close()
	check.Must(data.Conversation(ctx, "discord:1/2"))(t)
	as := func(process, statement string) {
		t.Helper()
		connector := check.Must(postgres.Connector(c.Address("postgres"), fleetSchema, map[string]string{"application_name": "cairn " + process}))(t)
		one := guard{sql.OpenDB(connector)}
		defer one.db.Close()
		check.NoError(t, check.ErrorOf(one.db.ExecContext(ctx, statement)))
	}
	noted := func(want string) {
		t.Helper()
		all := check.Must(g.noted(ctx))(t)
		check.That(t, strings.Contains(strings.Join(all, "; "), want) && (len(all) == 0) == (want == ""), "found %q, want %q", all, want)
		check.NoError(t, check.ErrorOf(g.db.ExecContext(ctx, "DELETE FROM guard_wrong")))
	}
	write := "INSERT INTO outbox (conversation, reply, part, parts, answers, text, failure, created_at) SELECT id, 'reply-' || (SELECT count(*) FROM outbox), 0, 1, '', '', 0, 1 FROM conversations"
	join := "INSERT INTO processes (name, connectors, version, settings, started_at, lease_until) VALUES ('%s', '', '', '', 1, 1)"
	as("a:1", fmt.Sprintf(join, "a:1"))
	as("b:2", fmt.Sprintf(join, "b:2"))
	as("a:1", "UPDATE conversations SET owner = 1, epoch = epoch + 1")
	as("a:1", write)
	noted("")
	as("b:2", write)
	noted("cairn b:2 wrote row 2 of outbox in discord:1/2, which cairn a:1 owns")
	as("b:2", "UPDATE conversations SET owner = 2, epoch = epoch + 1")
	noted("was taken by process 2 from 1, which runs")
	as("a:1", "DELETE FROM processes WHERE id = 2")
	as("a:1", "UPDATE conversations SET owner = 1, epoch = epoch + 1")
	as("a:1", write)
	noted("")
	as("a:1", "UPDATE conversations SET owner = 0")
	noted("")
	as("a:1", write)
	noted("which nobody owns")
	as("a:1", "UPDATE conversations SET owner = 1")
	noted("from owner 0 with epoch 3 to owner 1 with epoch 3")
}
