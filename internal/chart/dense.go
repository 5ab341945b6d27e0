// What is drawn of a long conversation, in which single points and compactions are too close to tell apart.

package chart

import (
	"fmt"
	"slices"
)

// clipped returns the points of the messages that are shown. It begins at the height that was reached before them.
func clipped(points []Point, s scale) []Point {
	from := slices.IndexFunc(points, func(p Point) bool { return p.At >= s.first })
	if from < 0 {
		from = len(points)
	}
	to := len(points)
	if end := slices.IndexFunc(points, func(p Point) bool { return p.At > s.last }); end >= 0 {
		to = max(end, from)
	}
	shown := slices.Clone(points[from:to])
	if from > 0 && (len(shown) == 0 || shown[0].At > s.first) {
		before := points[from-1]
		before.At = s.first
		shown = slices.Insert(shown, 0, before)
	}
	return shown
}

// thin keeps, of the points in one unit of width, the first, the lowest, the highest and the last:
// a file stays small however long the conversation is, and no peak is lost.
func thin(points []Point, s scale) (kept []Point) {
	for column := range inColumns(points, s, 1) {
		least := 0
		most := 0
		for k, p := range column {
			if p.Used < column[least].Used {
				least = k
			}
			if p.Used > column[most].Used {
				most = k
			}
		}
		shown := []int{0, least, most, len(column) - 1}
		slices.Sort(shown)
		for _, k := range slices.Compact(shown) {
			kept = append(kept, column[k])
		}
	}
	return kept
}

// inColumns yields the points in each column of a width, in units.
func inColumns(points []Point, s scale, width float64) func(yield func([]Point) bool) {
	return func(yield func([]Point) bool) {
		for i := 0; i < len(points); {
			j := i
			column := int(s.x(points[i].At) / width)
			for j < len(points) && int(s.x(points[j].At)/width) == column {
				j++
			}
			if !yield(points[i:j]) {
				return
			}
			i = j
		}
	}
}

const (
	mostTeeth   = 120 // more are drawn as a band, because their edges would fill the panel
	bandWidth   = 4   // of a step of the band, in units
	leastTooth  = 2   // percent of the panel's height; less is no tooth
	markSpacing = 12  // between two marks of one kind, in units; a mark is 10 wide
)

// crowded reports whether the points fall so often that their edges would fill the panel.
func crowded(points []Point, s scale) bool {
	teeth := 0
	for i := 1; i < len(points); i++ {
		if float64(points[i-1].Used-points[i].Used) > s.most*leastTooth/100 {
			teeth++
		}
	}
	return teeth > mostTeeth
}

// band is the course of crowded points: the lowest, the mean and the highest of each step, at its middle.
type band struct{ lowest, mean, highest []Point }

func bandOf(points []Point, s scale) (b band) {
	for step := range inColumns(points, s, bandWidth) {
		byUsed := func(a, b Point) int { return a.Used - b.Used }
		lowest := slices.MinFunc(step, byUsed)
		highest := slices.MaxFunc(step, byUsed)
		mean := step[len(step)/2]
		used := 0
		head := 0
		for _, p := range step {
			used += p.Used
			head += p.Head
		}
		mean.Used = used / len(step)
		mean.Head = head / len(step)
		lowest.At = mean.At
		highest.At = mean.At
		b.lowest = append(b.lowest, lowest)
		b.mean = append(b.mean, mean)
		b.highest = append(b.highest, highest)
	}
	return b
}

// spaced returns the marks that are between the first and the last message of the plot. One that another of its kind would
// hide is counted in the tip of that one.
func spaced(marks []Mark, s scale) (shown []Mark) {
	last := map[string]int{} // the shown mark of a kind
	hidden := map[int]int{}
	for _, m := range marks {
		if m.At < s.first || m.At > s.last {
			continue
		}
		before, known := last[m.Kind]
		if known && s.x(m.At)-s.x(shown[before].At) < markSpacing {
			hidden[before]++
			continue
		}
		last[m.Kind] = len(shown)
		shown = append(shown, m)
	}
	for i, n := range hidden {
		if shown[i].Tip != "" {
			shown[i].Tip += fmt.Sprintf(" (and %d more near it)", n)
		}
	}
	return shown
}
