// Whether a sentence is one: what asks, what is cut off, and what is only code or a list item is not remembered; and the words by
// which that is seen.

package summarize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/lazy"
	"cairn/internal/words"
)

const (
	minWords   = 3  // of a sentence that may be remembered, in scripts with blanks
	minWhole   = 4  // words of a sentence that another may refer to
	minUnended = 10 // words from which a sentence may end in a comma, as transcripts of speech have it
)

// unfit reports whether a sentence asks, or is no whole sentence.
func unfit(text string, plain []string) bool {
	if len(plain) == 0 || words.IsQuestion(text) || !strings.ContainsFunc(text, unicode.IsLetter) {
		return true
	}
	if len(plain) < minWords && !strings.ContainsFunc(text, words.IsUnspaced) {
		return true
	}
	text = strings.TrimRight(text, " ")
	if len(plain) >= minUnended {
		text = strings.TrimSuffix(text, ",")
	}
	last, _ := utf8.DecodeLastRuneInString(text)
	cut := strings.ContainsRune(",:;-–—(/&…、：；", last) || strings.HasSuffix(text, "...") || hanging[plain[len(plain)-1]]
	return cut || fragments[plain[0]] || listed().MatchString(text)
}

// hasCode reports whether a text has code, a version, a file or an address.
func hasCode(text string) bool {
	return (strings.ContainsAny(text, "`_(") || strings.Contains(text, "://") || strings.Contains(text, "--") || hasInnerPoint(text)) &&
		code().MatchString(text)
}

// hasInnerPoint reports whether a text has a full stop within a word.
func hasInnerPoint(text string) bool {
	for i := 1; i+1 < len(text); i++ {
		if text[i] == '.' && text[i-1] > ' ' && text[i+1] > ' ' {
			return true
		}
	}
	return false
}

var (
	// idleAtWork are cues that mean little where people talk about code.
	idleAtWork = words.Set(`possession doing past goal aim group role liking change`)

	// needsNoObject are cues that are complete without an object.
	needsNoObject = words.Set(`self decision group`)

	// openers are pronouns that begin a sentence about something that was named before.
	openers = words.Set(`it this that these those they them he she his her its their there here such both one ones another
others either neither same him es das dies diese dieser er sie ihr ça cela ce c'est il elle ils elles esto eso ese esa ella ellos
это он она они`)
	persons = words.Set(`he she him his her`)
	groups  = words.Set(`they them their`)

	// objectPronouns follow a cue that lacks its object.
	objectPronouns = words.Set(`it this that them these those him her so or one ones too there how what when where if because and
but you your es ihn sie ça`)

	// links are words that are no thing.
	links = words.Set(`i we you he she it they is are was were be been am have has had do did does will would can could and or but
because when while after before in on at to for from of with by as if so too there then since until my our your a an the not all`)
	subjects     = words.Set(`i we you they to not will can would`)
	subordinate  = words.Set(`while when if whether how why what where whenever`)
	prepositions = words.Set(`in on about of with for to at`)

	// fragments begin a part of a sentence, a reaction, or talk to somebody.
	fragments = words.Set(`because cause or than like which whose e.g i.e eg ie as if when while though although until unless since
lol haha hahaha yeah yes no nope see nevermind indeed ok okay sure oh exactly true agreed same you your let let's weil oder parce que porque потому`)
	// hanging end a sentence that is cut off.
	hanging = words.Set(`and or but the a an to of with for in on at from because that which are was i like und oder et ou y и`)
	// adrift begin an answer or an addition.
	adrift = words.Set(`from preferably specifically see probably env and but also even with well woops oops neat interestingly consider
changing welcome maybe perhaps so apparently sadly fortunately unfortunately alternatively issue hopefully glad right basically`)
	additions = words.Set(`and or but so also plus then especially otherwise`)
	replies   = words.Set(`too though either then instead anyway also fwiw well`)

	// workings are verbs of things.
	workings = words.Set(`is are was means uses takes can will does returns requires supports adds works runs inspects creates makes has
lets allows needs expects produces brings expands installs contains defaults belongs depends replaces reads writes searches strips changed`)
	sounds      = words.Set(`uh um eh uhm er hm mm`)
	numberWords = words.Set(`two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million percent per cent euro euros dollars
pounds`)

	listed = lazy.Pattern(`^(?:"\s|_|\(|\d+[.)/]|[-*•>#])\s*\S`)

	// showing matches words that point at an attachment.
	showing = lazy.Pattern(`(?i)\b(?:this is|here(?:'s| is)|that's|these are|this (?:\w+ )?(?:photo|pic|picture|painting|one)|look at|check out)\b`)

	// code matches what hasCode finds.
	code = lazy.Pattern("`[^`]+`|https?://|\\bv?\\d+\\.\\d+|\\b\\w+\\.(?:com|org|net|io|rkt|py|js|go|md|toml)\\b|--\\w|\\w_\\w|\\w\\(\\)")
)
