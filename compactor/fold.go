package compactor

// Which two summaries the extractive summarizer folds.

// mostLopsided is how many times as many messages the larger of two rows that are folded may have as the smaller. Below 16 a fold
// spreads detail less evenly over a conversation of some hundred messages: with 8 its summaries retained a tenth less of the
// messages that answer questions (bench retention).
const mostLopsided = 16

// balanced returns the pair of neighbours over the fewest messages for which may returns true, of those that are over about as
// many; if there is none, of all. A fold chooses among all that its rows were chosen from. If a row over thousands of messages
// took up one new summary after the other, each of them would cost as much as the whole row; like this the new ones are folded
// first, and a message has the same share of the cost in any conversation.
func balanced(stack []Summary, may func(a, b Summary) bool) (pair []Summary) {
	alike := func(a, b Summary) bool {
		return may(a, b) && max(a.Messages, b.Messages) <= mostLopsided*min(a.Messages, b.Messages)
	}
	pair = lightest(stack, alike)
	if pair != nil {
		return pair
	}
	return lightest(stack, may)
}
