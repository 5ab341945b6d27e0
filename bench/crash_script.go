package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cairn/llm"
	"cairn/testkit/llmtest"
)

// oracle is the model server of a crash run: it answers, calls tools, summarizes, takes its time,
// and fails now and then.
type oracle struct {
	server            *llmtest.Server
	healthy           atomic.Bool  // it no longer fails
	answering, atWork atomic.Int64 // current requests: for replies, and for summaries
	pause             int          // ms at most between two pieces of a reply

	random *rand.Rand // for concurrent use
}

// lockedSource is a source of random numbers for several goroutines.
type lockedSource struct {
	mu     sync.Mutex // guards source
	source rand.Source
}

func (s *lockedSource) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.Uint64()
}

func newOracle(seed uint64) *oracle {
	o := &oracle{pause: 15, random: rand.New(&lockedSource{source: rand.NewPCG(seed, 2)})}
	o.server = llmtest.NewServer(o.serve)
	return o
}

// wait waits up to most milliseconds, usually much less.
func (o *oracle) wait(x *llmtest.Exchange, most int) bool {
	return x.Wait(time.Duration(o.random.IntN(most)*o.random.IntN(most)/most) * time.Millisecond)
}

func (o *oracle) serve(x *llmtest.Exchange) {
	if offers(x.Request, "summarize") {
		o.atWork.Add(1)
		defer o.atWork.Add(-1)
		o.summarize(x, offers(x.Request, "memory_save"))
		return
	}
	o.answering.Add(1)
	defer o.answering.Add(-1)
	o.answer(x)
}

// summarize saves a memory first if it may, and then summarizes.
func (o *oracle) summarize(x *llmtest.Exchange, saves bool) {
	if !o.wait(x, 500) {
		return
	}
	if !o.healthy.Load() {
		switch o.random.IntN(25) {
		case 0:
			x.Refuse(400, "", `{"error":{"message":"not today"}}`)
			return
		case 1:
			x.Piece("They spoke of")
			x.Cut()
		case 2:
			x.Say("") // an empty summary
			return
		}
	}
	span := askedSpan.FindStringSubmatch(x.Request.Messages[1].Text())
	if saves && span != nil && len(x.Request.Messages) == 2 {
		x.Use(fmt.Sprint("m", x.N), "memory_save", fmt.Sprintf(`{"content":%q,"kind":"fact","importance":0.5,"messages":[%s]}`, text(o.random, 9), span[1]))
		return
	}
	x.Use(fmt.Sprint("s", x.N), "summarize", fmt.Sprintf(`{"summary":%q}`, textOf(o.random, 40+o.random.IntN(40), materialWords(x.Request.Messages[1].Text()))))
}

// answer calls a tool if the message asks for one, and then replies piece by piece.
func (o *oracle) answer(x *llmtest.Exchange) {
	if !o.wait(x, 60) {
		return
	}
	if !o.healthy.Load() && o.random.IntN(60) == 0 {
		x.Piece("Well,")
		x.Cut()
	}
	if last := x.Request.Last(); last.Role == llm.RoleUser {
		for name, arguments := range map[string]string{
			"memory_save": fmt.Sprintf(`{"content":%q,"kind":"fact","importance":0.4}`, text(o.random, 8)),
			"recall":      `{"query":"lantern harbour"}`, "context": `{"op":"compact"}`,
		} {
			if offers(x.Request, name) && strings.Contains(last.Text(), "use "+name) {
				x.Use(fmt.Sprint("c", x.N), name, arguments)
				return
			}
		}
	}
	for piece := range slices.Chunk([]byte("Noted: "+text(o.random, 5+o.random.IntN(60))), 80) {
		x.Piece(string(piece))
		if !o.wait(x, o.pause) {
			return
		}
	}
	x.Say()
}
