// Errors whose text is for people, not for the log.

package channel

import "errors"

// errPeople carries a message for the person who asked; it is not a program error.
type errPeople string

func (e errPeople) Error() string { return string(e) }

// errDenied carries a message for a person who lacks the rights; only that person needs to see it.
type errDenied string

func (e errDenied) Error() string { return string(e) }

// Words returns the text of an error that is meant for people; ok is false for other errors.
func Words(err error) (words string, ok bool) {
	var denied errDenied
	var people errPeople
	switch {
	case errors.As(err, &denied):
		return string(denied), true
	case errors.As(err, &people):
		return string(people), true
	}
	return "", false
}
