// Package check contains checks that many tests share. It imports nothing of Cairn.
package check

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tester is what *testing.T, *testing.B and *rapid.T have in common.
type Tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Must returns what a call returned, and ends the test if the call failed: check.Must(f())(t).
func Must[T any](value T, err error) func(Tester) T {
	return func(t Tester) T {
		t.Helper()
		NoError(t, err)
		return value
	}
}

// NoError ends the test if a call failed.
func NoError(t Tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Error checks that a call failed with the error want; nil: that it succeeded. Unlike NoError it
// does not end the test, so it may run in any goroutine.
func Error(t Tester, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

// ErrorOf returns the error of a call that also returns a value.
func ErrorOf[T any](_ T, err error) error { return err }

// ErrorContains checks that a call failed with an error whose text contains all parts.
func ErrorContains(t Tester, what string, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: got no error, want one that contains %q", what, parts)
		return
	}
	Contains(t, what, err.Error(), parts...)
}

// That checks a condition; the message says what was found instead.
func That(t Tester, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, args...)
	}
}

// Require ends the test unless a condition holds.
func Require(t Tester, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Fatalf(format, args...)
	}
}

// Equal compares what a test got with what it wants.
func Equal[T comparable](t Tester, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s, want %s", what, format(got), format(want))
	}
}

// EqualAll compares two lists.
func EqualAll[T comparable](t Tester, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %s, want %s", what, format(got), format(want))
	}
}

// Len ends the test if a list does not have n elements: a test may read them after it.
func Len[T any](t Tester, what string, list []T, n int) {
	t.Helper()
	if len(list) != n {
		t.Fatalf("%s: got %d elements, want %d: %s", what, len(list), n, format(list))
	}
}

// Contains checks that a text contains all parts.
func Contains(t Tester, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: got %q, want it to contain %q", what, text, part)
		}
	}
}

// Lacks checks that a text contains none of the parts.
func Lacks(t Tester, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%s: got %q, want it not to contain %q", what, text, part)
		}
	}
}

// HasPrefix checks how a text begins.
func HasPrefix(t Tester, what, text, prefix string) {
	t.Helper()
	if !strings.HasPrefix(text, prefix) {
		t.Errorf("%s: got %q, want it to begin with %q", what, text, prefix)
	}
}

// format quotes texts: spaces and line breaks show.
func format(value any) string {
	switch value.(type) {
	case string, []string:
		return fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%+v", value)
}

// Buffer is a buffer for several goroutines, for example for a log.
type Buffer struct {
	mu  sync.Mutex // guards all
	all bytes.Buffer
}

// Write never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

// String returns everything written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// Soon waits until a condition holds, for at most a minute, and reports whether it does.
func Soon(holds func() bool) bool {
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
