// Package check contains checks that many tests share. It imports nothing of Cairn.
package check

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
)

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

// Must returns what a call returned, and ends the test if the call failed: check.Must(f())(t).
func Must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		NoError(t, err)
		return value
	}
}

// NoError ends the test if a call failed.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Error checks that a call failed with the error want.
func Error(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("the error is %v, want %v", err, want)
	}
}

// ErrorOf returns the error of a call that also returns a value.
func ErrorOf[T any](_ T, err error) error { return err }

// Equal compares what a test got with what it wants.
func Equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// EqualAll compares two lists.
func EqualAll[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Contains checks that a text contains a part.
func Contains(t testing.TB, what, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s: %q, want %q in it", what, text, part)
	}
}
