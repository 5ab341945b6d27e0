package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/llm"
	"cairn/testkit/llmtest"
)

var questionNumber = regexp.MustCompile(`\bq(\d+)\b`)

func numbersIn(text string) (all []int) {
	for _, found := range questionNumber.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(found[1]) // digits
		all = append(all, n)
	}
	return all
}

// answerQuestions is the script of the model: it names the questions that it answers, in pieces.
func answerQuestions(x *llmtest.Exchange, random *rand.Rand) {
	var numbers []string
	for _, m := range slices.Backward(x.Request.Messages) {
		if m.Role != llm.RoleUser {
			break
		}
		var these []string
		for _, n := range numbersIn(m.Text()) {
			these = append(these, fmt.Sprint("q", n))
		}
		numbers = append(these, numbers...)
	}
	pause := func(longest int) bool {
		return x.Wait(time.Duration(longest/4+random.IntN(longest*3/4)) * time.Millisecond)
	}
	if !pause(200) {
		return
	}
	x.Piece("The answer to " + strings.Join(numbers, " and ") + ":")
	rest := 200
	if random.IntN(8) == 0 {
		rest = slowRest // then people see the beginning first
	}
	if !pause(rest) {
		return
	}
	x.Say(" " + text(random, 10))
}

// slowRest is what the model takes at most to finish an answer that it has started, in ms.
const slowRest = 2000

// afterFreeze is how soon a process that was frozen sends the request before which it was stopped.
const afterFreeze = 2 * time.Second

// verdict is what people saw of the answers.
type verdict struct {
	answered map[int]time.Time // by question
	lost     []string
	twice    []string
	frozen   []string // answered twice, because a process was frozen between its last check and the request
	disorder []string
	strange  []string // answers to what nobody asked there
	notices  []string // messages of the bot that are no answers, as while the database is away
	in       map[string]bool
}

// compareAnswers compares what people asked with what they see.
func compareAnswers(asked []question, seen map[string][]shown, faults []injected) (v verdict) {
	v.answered = map[int]time.Time{}
	v.in = map[string]bool{}
	where := map[int]string{}
	for _, q := range asked {
		where[q.n] = q.on + ":" + q.place
	}
	for place, all := range seen {
		v.readPlace(place, all, where, faults)
	}
	for _, q := range asked {
		if _, there := v.answered[q.n]; !there {
			v.lost = append(v.lost, fmt.Sprintf("q%d of %s in %s was not answered", q.n, clockTime(q.at), where[q.n]))
			v.in[where[q.n]] = true
		}
	}
	return v
}

func (v *verdict) readPlace(place string, all []shown, where map[int]string, faults []injected) {
	last := 0
	first := map[int]shown{}
	wrong := func(list *[]string, format string, args ...any) {
		*list = append(*list, fmt.Sprintf(format, args...)+" in "+place)
		v.in[place] = true
	}
	for _, m := range all {
		if m.deleted {
			continue
		}
		numbers := numbersIn(m.text)
		if len(numbers) == 0 {
			wrong(&v.notices, "%s %s says %q", clockTime(m.at), m.id, m.text)
		}
		for _, n := range numbers {
			before, there := first[n]
			switch {
			case where[n] != place:
				wrong(&v.strange, "%s %s answers q%d, which nobody asked", clockTime(m.at), m.id, n)
			case there && isAfterFreeze(m.at, faults):
				wrong(&v.frozen, "q%d was answered by %s %s and, when a frozen process went on, by %s %s", n, clockTime(before.at), before.id, clockTime(m.at), m.id)
			case there:
				wrong(&v.twice, "q%d was answered by %s %s and %s %s", n, clockTime(before.at), before.id, clockTime(m.at), m.id)
			case n < last:
				wrong(&v.disorder, "q%d was answered by %s %s, after q%d", n, clockTime(m.at), m.id, last)
			}
			if !there {
				first[n] = m
				v.answered[n] = m.at
				last = max(last, n)
			}
		}
	}
}

func isAfterFreeze(at time.Time, faults []injected) bool {
	return slices.ContainsFunc(faults, func(f injected) bool {
		return f.Kind == "freeze" && at.After(f.ended) && at.Before(f.ended.Add(afterFreeze))
	})
}

// unevenly returns which questions are not in the transcript exactly once.
func unevenly(asked []question, texts []string) (wrong []string) {
	times := map[int]int{}
	for _, one := range texts {
		for _, n := range numbersIn(one) {
			times[n]++
		}
	}
	for _, q := range asked {
		if times[q.n] != 1 {
			wrong = append(wrong, fmt.Sprintf("q%d of %s:%s is in the transcript %d times", q.n, q.on, q.place, times[q.n]))
		}
	}
	return wrong
}
