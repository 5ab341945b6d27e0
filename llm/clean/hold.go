// What is held back: calls written as text, and blocks, until it is known what they are.

package clean

// holding is what is known of what is held back.
type holding struct {
	isHolding bool
	block     string // the name of the block that it may be; "": it may be calls
	marked    bool   // it has a mark of calls
	inText    bool   // there is text before it
	judged    int    // bytes of it at the last look
}

// hold holds back all that follows: it begins like a call.
func (f *Filter) hold(marked bool) verdict {
	f.holding = holding{isHolding: true, marked: marked, inText: f.mode != nil}
	f.mode = (*Filter).readHeld
	return handled
}

// readHeld holds raw back. It looks at what is held whenever that has doubled, so that looking stays cheap.
func (f *Filter) readHeld(bool) bool {
	f.held.WriteString(f.raw)
	f.raw = ""
	if f.marked || f.held.Len() < 2*f.judged {
		return true
	}
	f.judged = f.held.Len()
	held := f.held.String()
	if f.block == "" {
		if !offered(f.Tools).mayBePlain(held) {
			f.letGo()
		}
	} else if f.behindBlocks(held, false) != "" {
		f.release()
	}
	return true
}

// release decides about what is held back, at the end of the answer or of a block.
func (f *Filter) release() {
	held := f.held.String()
	if f.block == "" {
		mayBeCalls := f.marked || offered(f.Tools).mayBePlain(held) // which more of it may have changed since the last look
		if mayBeCalls && f.readCalls(held) {
			f.holding = holding{}
			f.end()
			return
		}
		f.letGo()
		return
	}
	rest := f.behindBlocks(held, true)
	switch {
	case rest == "":
		f.holding = holding{}
		f.end()
	case f.inText:
		f.letGo()
	default:
		f.holding = holding{}
		f.held.Reset()
		f.raw = rest + f.raw
		f.mode = nil
		f.stripped = true
	}
}

// letGo makes text of what is held back.
func (f *Filter) letGo() {
	f.raw = f.held.String() + f.raw
	f.held.Reset()
	was := f.holding
	f.holding = holding{}
	if !was.inText {
		f.begin()
	}
	f.mode = (*Filter).body
	if !was.marked && was.block == "" {
		if was.inText { // what begins it is looked at only once
			f.takeRune()
		}
		return
	}
	f.about = true
	f.textOnly = f.textOnly || was.marked
	f.blockSeen = f.blockSeen || was.block != ""
	m, _ := markAt(f.raw, true)
	f.take(m.size)
}
