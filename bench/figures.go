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

// intervals returns the 95 % confidence intervals of the means, by bootstrapping: the same ones each time.
func intervals(all []outcome) (low, high outcome) {
	if len(all) == 0 {
		return low, high
	}
	r := rand.New(rand.NewPCG(1, 1))
	var means [measures][]float64
	for range 1000 {
		drawn := make([]outcome, len(all))
		for i := range drawn {
			drawn[i] = all[r.IntN(len(all))]
		}
		for m, mean := range meanOf(drawn) {
			means[m] = append(means[m], mean)
		}
	}
	for m := range means {
		slices.Sort(means[m])
		low[m] = means[m][25]
		high[m] = means[m][974]
	}
	return low, high
}
