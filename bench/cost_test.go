package main

import "testing"

func TestX(t *testing.T) {
	s := screenOf(t.Output(), t.Output())
	if err := (pricing{turns: 300, seed: 1, scale: 1}).run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}
