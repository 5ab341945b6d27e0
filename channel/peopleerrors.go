// Errors whose text is for people, not for the log.

package channel

import "errors"

// peopleError carries a message for the person who asked; it is not a program error.
type peopleError struct {
	words   string
	private bool // only that person needs to see it: they lack the rights, or came too late
}

func (e peopleError) Error() string { return e.words }

func errPeople(words string) error { return peopleError{words: words} }
func errDenied(words string) error { return peopleError{words, true} }

// Words returns the text of an error that is meant for people; ok is false for other errors.
func Words(err error) (words string, ok bool) {
	var e peopleError
	ok = errors.As(err, &e)
	return e.words, ok
}
