package sentences

import "errors"

// Problem is an error with a sentence for the person who asked. It is not a program error.
type Problem struct {
	Text    string
	Private bool // only that person needs to see it: they lack the rights, or came too late

	Setting string // the key of the setting whose new value is at fault; "": none is
}

// NewProblem returns an error with a sentence for the person who asked, or for the model that called a tool.
func NewProblem(text string) error { return Problem{Text: text} }

func (p Problem) Error() string { return p.Text }

// ProblemOf returns the problem that an error is; ok is false for other errors.
func ProblemOf(err error) (p Problem, ok bool) { return errors.AsType[Problem](err) }
