package main

import (
	"testing"

	"cairn/internal/check"
)

func TestTurnMeasuresTheProgram(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds the program")
	}
	r := ranAs[turnResult](t, "turn", "--channels", "2", "--turns", "3")
	check.That(t, r.Turns == 6 && r.CPU > 0 && r.Largest >= turnChars*5, "%+v", r)
}

func TestIdle(t *testing.T) {
	i := ranAs[idle](t, "idle", "--channels", "100")
	if i.Open < 2 || i.Open > 60 { // a goroutine alone has 2
		t.Errorf("a silent channel takes %v KB", i.Open)
	}
}

func TestStart(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	starts = 2
	r := ranAs[started](t, "start", "--messages", "300")
	check.That(t, len(r.Shapes) == 3 && r.Shapes[0].Median > 0 && r.Shapes[1].Median > 0 && r.Shapes[2].CPU > 0, "%+v", r)
}
