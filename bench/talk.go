package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"cairn/store"
)

// The conversation of `cost`: generated from a seed, so that it is the same for every strategy.

// turn is one question, the messages before it, and its answer.
type turn struct {
	gap       time.Duration // since the previous answer
	overheard []said        // messages not addressed to the bot
	question  said
	looked    string // the result of a tool call before the answer; "": there is none
	now       string // the turn context
	answer    string
}

type said struct{ author, text string }

// Lengths in words, which are roughly tokens. Texts that people write are often short and rarely
// very long: all lengths are log-normal, with the mean at median times e^(σ²/2).
const talkHelp = `A turn has 0 to 6 overheard messages (median 20 words, σ 0.8), a question (median 60, σ 1.0; in one of
8 turns also pasted text, median 1200, σ 0.7, at most 8000), in one of 4 turns a tool call (median 900,
σ 0.6), and an answer (median 220, σ 0.8), with 150 words of memories and time beside the last message.
All lengths are log-normal. Turns follow each other after 45 s on average (5 s to 4 min, exponential).`

// talk generates a conversation of n turns, with lengths times scale; one turn in four follows a
// pause if pauses is true. The words are the same either way.
func talk(n int, scale float64, pauses bool) []turn {
	words := rand.New(rand.NewPCG(1, 1))
	clock := rand.New(rand.NewPCG(1, 2))
	length := func(median, sigma float64) int {
		return max(int(scale*median*math.Exp(sigma*words.NormFloat64())), 1)
	}
	people := []string{"Ada", "Grace", "Edsger", "Barbara", "Tony"}
	turns := make([]turn, n)
	for i := range turns {
		t := &turns[i]
		for range words.IntN(7) {
			t.overheard = append(t.overheard, said{people[words.IntN(len(people))], text(words, length(20, 0.8))})
		}
		t.question = said{people[words.IntN(len(people))], text(words, length(60, 1))}
		if words.IntN(8) == 0 {
			t.question.text += "\n\n" + text(words, min(length(1200, 0.7), 8000))
		}
		if words.IntN(4) == 0 {
			t.looked = text(words, length(900, 0.6))
		}
		t.now = text(words, 150)
		t.answer = text(words, length(220, 0.8))
		t.gap = min(max(time.Duration(clock.ExpFloat64()*float64(45*time.Second)), 5*time.Second), 4*time.Minute)
		if pause := clock.IntN(4) == 0; pause && pauses {
			t.gap = 30 * time.Minute
		}
	}
	return turns
}

var vocabulary = strings.Fields(`the of and to in is that it was for on are as with they be at one have this from
or had by hot but some what there we can out other were all your when up use how said each she which do their time if
will way about many then them would write like so these her long make thing see him two has look more day could go
come did my sound no most who over know than call first people may down side been now find any new work part take get
place made live where after back little only round man year came show every good me give our under name very through
just form great think say help low line before turn cause same mean move right boy old too does tell set three want
air well also play small end put home read hand port large spell add even land here must big high such follow act why
ask men change went light kind off need house picture try us again animal point mother world near build self earth`)

// text returns n words, in sentences.
func text(r *rand.Rand, n int) string { return textOf(r, n, vocabulary) }

// textOf is text with the given words.
func textOf(r *rand.Rand, n int, words []string) string {
	var b strings.Builder
	for i := range n {
		switch {
		case i == 0:
		case i%14 == 0:
			b.WriteString(". ")
		default:
			b.WriteByte(' ')
		}
		b.WriteString(words[r.IntN(len(words))])
	}
	b.WriteByte('.')
	return b.String()
}

// newWordEvery: one word in that many is new, like names and numbers are.
const newWordEvery = 20

// freshWords returns n of these words, with new ones among them.
func freshWords(r *rand.Rand, n int, words []string) string {
	var b strings.Builder
	for range n {
		if r.IntN(newWordEvery) == 0 {
			fmt.Fprintf(&b, "%c%x ", 'g'+rune(r.IntN(20)), r.IntN(1<<24))
			continue
		}
		b.WriteString(words[r.IntN(len(words))] + " ")
	}
	return b.String()
}

// past returns n messages of three people, a minute apart.
func past(n int, begin time.Time, text func() string) []store.Inbound {
	all := make([]store.Inbound, n)
	for i := range all {
		author := []string{"Ada", "Ben", "Cleo"}[i%3]
		all[i] = store.Inbound{ID: fmt.Sprint("past", i), AuthorID: author, Author: author, Text: text(), Time: begin.Add(time.Duration(i) * time.Minute)}
	}
	return all
}
