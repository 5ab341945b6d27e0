package main

import (
	"math/rand/v2"
	"slices"
)

// outcome is how well one question was answered, by measure.
type outcome [measures]float64

const (
	at5 = iota
	at10
	at20
	mrr
	hit10
	measures
)

var measureNames = [measures]string{"@5", "@10", "@20", "MRR", "hit@10"}

// outcomeOf compares the messages that a search found, best first, with the evidence.
func outcomeOf(evidence, found []int64) (o outcome) {
	share := 1 / float64(len(evidence))
	for i, seq := range found {
		if !slices.Contains(evidence, seq) {
			continue
		}
		for measure, upto := range map[int]int{at5: 5, at10: 10, at20: 20} {
			if i < upto {
				o[measure] += share
			}
		}
		if i < 10 {
			o[hit10] = 1
		}
		if o[mrr] == 0 {
			o[mrr] = 1 / float64(i+1)
		}
	}
	return o
}

// figure is one measure of a set of recordings.
type figure struct {
	Set       string  `json:"set"`
	Questions int     `json:"questions"`
	Measure   string  `json:"measure"`
	Cairn     float64 `json:"cairn"`
	Low       float64 `json:"low"` // lower end of its 95 % confidence interval
	High      float64 `json:"high"`
	BM25      float64 `json:"bm25"`
}

// figuresOf returns the measures of a set, from the outcomes of its questions.
func figuresOf(set string, cairn, plain []outcome) (all []figure) {
	low, high := intervals(cairn)
	for m, name := range measureNames {
		all = append(all, figure{set, len(cairn), name, meanOf(cairn)[m], low[m], high[m], meanOf(plain)[m]})
	}
	return all
}

func meanOf(all []outcome) (mean outcome) {
	for _, o := range all {
		for m := range mean {
			mean[m] += o[m] / float64(len(all))
		}
	}
	return mean
}

// intervals returns the 95 % confidence intervals of the means.
func intervals(all []outcome) (low, high outcome) {
	for m := range measures {
		var values []float64
		for _, o := range all {
			values = append(values, o[m])
		}
		low[m], high[m] = interval(values)
	}
	return low, high
}

// interval returns the 95 % confidence interval of the mean of values, by bootstrapping: the same one each time.
func interval(values []float64) (low, high float64) {
	if len(values) == 0 {
		return 0, 0
	}
	r := rand.New(rand.NewPCG(1, 1))
	means := make([]float64, 1000)
	for i := range means {
		for range values {
			means[i] += values[r.IntN(len(values))] / float64(len(values))
		}
	}
	slices.Sort(means)
	return means[25], means[974]
}

// mean returns the mean of values; 0 of none.
func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}
