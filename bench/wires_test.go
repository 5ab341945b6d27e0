package main

import (
	"testing"

	"cairn/llm"
)

func TestWires(t *testing.T) {
	t.Run("a model that needs Responses is answered on auto, and by Responses", func(t *testing.T) {
		m := wiredModel{name: "gpt-6-astra", wires: openAIWires, needsResponses: true, completion: true, thinks: true}
		cell, err := m.on(t.Context(), wireAuto)
		if err != nil || !cell.answered() || cell.Took != llm.WireResponses {
			t.Errorf("%+v, %v", cell, err)
		}
	})
	t.Run("a server that takes no tools on its only wire fails", func(t *testing.T) {
		m := wiredModel{name: "gpt-6-nowhere", needsResponses: true}
		cell, err := m.on(t.Context(), wireAuto)
		if err != nil || cell.answered() || cell.Failed["turn"] == "" {
			t.Errorf("%+v, %v", cell, err)
		}
	})
	t.Run("there are 20 models, none twice", func(t *testing.T) {
		seen := map[string]bool{}
		for _, m := range wiredModels {
			seen[m.name] = true
		}
		if len(seen) != 20 || len(wiredModels) != 20 {
			t.Errorf("%d names of %d models", len(seen), len(wiredModels))
		}
	})
}

func TestTurnMeasuresTheProgram(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds the program")
	}
	r := ranAs[turned](t, "turn", "--channels", "2", "--turns", "3")
	if r.Turns != 6 || r.CPU <= 0 || r.Largest < turnChars*5 {
		t.Errorf("%+v", r)
	}
}
