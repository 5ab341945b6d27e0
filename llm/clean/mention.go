// Marks that the text is about: they stay in it.

package clean

// mentions are what is known of them. Where the text is about marks, others may be no marks, either.
type mentions struct {
	any      bool   // marks are mentioned
	example  string // the name of the mark that began a turn in an example of a template; "": none
	messages bool   // headers of messages in channels are mentioned
	blocks   bool   // marks of Cairn's blocks are mentioned
	thoughts bool   // marks that begin a thought are mentioned
}

// add adds a mark.
func (s *mentions) add(m mark) {
	s.any = true
	s.thoughts = s.thoughts || m.kind == thoughtOpens
	s.blocks = s.blocks || m.kind == block
}

// inExampleOf reports whether a token belongs to an example of a template.
func (s *mentions) inExampleOf(m mark) bool {
	return s.example != "" && (s.example != inst || m.name == inst || m.name == "s")
}

// inst is the name of [INST] and [/INST], in which a line often has a full example.
const inst = "inst"

// quote moves a mark into the text: the text is about it.
func (b *body) quote(in *input, m mark) step {
	b.mentions.add(m)
	b.take(in, m.size)
	return step{verdict: handled}
}

// mention moves a mark outside of code into the text. It may be a part of an example of a template, up to the next end of a
// turn.
func (b *body) mention(in *input, m mark, next following) step {
	switch begins := next.mark.kind == turnBegins; {
	case m.name == inst && !m.closes, m.kind == header && m.name == "start",
		m.kind == turnBegins && !next.goesOn() && (next.blank == 0 || next.newline || begins || b.text.isAboutTemplates()):
		b.mentions.example = m.name
	case m.kind == turnEnds && m.name != inst:
		b.mentions.example = ""
	}
	b.mentions.messages = b.mentions.messages || m.kind == header
	return b.quote(in, m)
}

// keepThought makes text of what seemed to be a thought: the text is about its marks.
func (b *body) keepThought(in *input, was *thought) {
	all := was.all.String()
	m, _ := markAt(all, true)
	b.mentions.any = m.size > 0 || was.emphasis != ""
	b.mentions.thoughts = b.mentions.any
	b.text.put(all[:m.size])
	in.putBack(all[m.size:])
}

// keepHeld makes text of what was held back.
func (b *body) keepHeld(in *input, was *held) {
	in.putBack(was.text.String())
	switch {
	case was.marked || was.block != "":
		b.mentions.any = true
		b.mentions.blocks = b.mentions.blocks || was.block != ""
		m, _ := markAt(in.raw, true)
		b.take(in, m.size)
	case was.inText: // what begins it is looked at only once
		b.take(in, runeSize(in.raw))
	}
}
