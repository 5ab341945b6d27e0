package main

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
)

// people talk on a platform, and edit and delete what they said, whether the program runs or not.
type people struct {
	side
	clients   *clients // with all they said, by the platform's ids
	connected int      // connections before the process
	behind    int      // deletions in the transcript's past that were not found: see beyondReview
}

// slowly is how long the model takes at most between two pieces of a reply on a platform, in ms: half of it is shown.
const slowly = 800

func newPeople(c *clients, s side) *people { return &people{side: s, clients: c} }

// garden is the channel of the agent that compacts immediately.
func (p *people) garden() string { return path.Base(p.places()[1]) }

// act does something: mostly a person says something.
func (p *people) act() {
	p.clients.mu.Lock()
	defer p.clients.mu.Unlock()
	p.actLocked()
}

func (p *people) actLocked() {
	random := p.clients.random
	at := random.IntN(4)
	recent := p.recentLocked(p.places()[at])
	kind := random.IntN(20)
	if kind < 13 || len(recent) == 0 {
		p.sayLocked(at, random)
		return
	}
	u := recent[random.IntN(len(recent))*random.IntN(2)] // mostly the newest, which is being answered
	if kind < 16 {
		u.earlier = append(u.earlier, u.text)
		u.text += " again"
		p.edit(u.channel, u.id, u.text, u.addressed)
		return
	}
	u.forgotten = true
	p.remove(u.channel, u.id)
}

// recentLocked returns the newest messages of a place that may be edited and deleted: not the first, above the thread.
func (p *people) recentLocked(place string) (recent []*remark) {
	const most = 8
	said := p.clients.said
	for i := len(said) - 1; i > 0 && len(recent) < most; i-- {
		if said[i].channel == place && !said[i].forgotten {
			recent = append(recent, said[i])
		}
	}
	return recent
}

func (p *people) sayLocked(at int, random *rand.Rand) *remark {
	place := p.places()[at]
	const direct = 2 // its index
	u := &remark{channel: place, author: []string{"Ann", "Ben"}[random.IntN(2)], addressed: at == direct || random.IntN(5) > 0}
	if at == direct {
		u.author = "Ann"
	}
	begin := ""
	words := 10 + random.IntN(80)
	if random.IntN(10) == 0 {
		begin = []string{"use memory_save ", "use recall ", "use context "}[random.IntN(3)]
	}
	u.text = fmt.Sprintf("m%d: %s%s", len(p.clients.said)+1, begin, strings.TrimSpace(text(random, words)))
	u.id = p.say(place, u.author, u.text, u.addressed)
	p.clients.said = append(p.clients.said, u)
	p.clients.byID[u.id] = u
	return u
}

// begin has a person say something in each place: the bot is in a place once it has a message from there.
func (p *people) begin() {
	p.clients.mu.Lock()
	defer p.clients.mu.Unlock()
	for at := range 4 {
		p.sayLocked(at, p.clients.random)
	}
}
