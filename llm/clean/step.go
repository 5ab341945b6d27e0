// A step: what a reader has decided about the front of the input.

package clean

// verdict says how reading goes on.
type verdict int

const (
	nothing      verdict = iota // a check has found nothing
	unknown                     // it takes more text to know
	handled                     // something was read, and the reader reads on
	beginAnswer                 // the answer begins
	endAnswer                   // it has ended: what follows is dropped
	takeBack                    // the text so far was a thought
	beginThought                // a thought begins
	endThought                  // the thought is over
	callThought                 // the thought was a call, and the answer ends
	keepThought                 // the thought was text
	holdBack                    // all that follows is held back
	letGo                       // what was held back is text
	callHeld                    // what was held back is calls, and the answer ends
	dropHeld                    // what was held back is dropped, except what went back to the input
)

// step is a verdict, and what comes with it.
type step struct {
	verdict

	thought *thought // that begins
	held    *held    // that begins
}

// hold is a step that holds back what may be calls. inText: there is text before it.
func hold(marked, inText bool) step {
	return step{verdict: holdBack, held: &held{marked: marked, inText: inText}}
}
