package search

import (
	"math"
	"testing"

	"cairn/internal/check"
)

func TestSpread(t *testing.T) {
	postings := []Posting{{5, 1, 9}, {7, 2, 8}, {20, 1, 7}}
	got := spread(postings)
	want := map[int64]float64{}
	for _, p := range postings {
		for _, around := range nearby {
			want[p.Document+around.offset] += around.weight * float64(p.Count)
		}
	}
	check.Len(t, "result", got, len(want))
	for i, p := range got {
		if math.Abs(p.near-want[p.seq]) > 1e-12 || i > 0 && got[i-1].seq >= p.seq {
			t.Errorf("%+v, want %v", p, want[p.seq])
		}
	}
	p := (trace{places: got}).at(7)
	check.Equal(t, "(trace{places: got}).at(7).count", p.count, 2)
	check.Equal(t, "(trace{places: got}).at(7).length", p.length, 8)
	check.Equal(t, "(trace{places: got}).at(30)", (trace{places: got}).at(30), (place{}))
}
