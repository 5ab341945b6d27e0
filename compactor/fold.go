package compactor

// Which two summaries the extractive summarizer folds.

// mostLopsided is how many times as many messages the larger of two rows that are folded may have as the smaller.
const mostLopsided = 2

// balanced returns the pair of neighbours over the fewest messages for which may returns true, of those that are over about as
// many; if there is none, of all. A fold chooses among all that its rows were chosen from. If a large row took up one new
// summary after the other, each of them would cost as much as the whole row; like this a message takes part in as many folds as
// the conversation has doubled since, with less of its text each time, so its share of the cost is the same in any conversation.
func balanced(stack []Summary, may func(a, b Summary) bool) (pair []Summary) {
	alike := func(a, b Summary) bool {
		return may(a, b) && max(a.Messages, b.Messages) <= mostLopsided*min(a.Messages, b.Messages)
	}
	if pair = lightest(stack, alike); pair != nil {
		return pair
	}
	return lightest(stack, may)
}
