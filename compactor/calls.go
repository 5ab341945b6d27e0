package compactor

import (
	"encoding/json"

	"cairn/internal/tokens"
	"cairn/llm"
)

// What a model gives its tools can be as long as an answer, and a turn has many
// steps. Where a message is clipped, its calls are too.

func costOfCalls(calls []llm.Call) (tokens int) {
	for _, call := range calls {
		tokens += costOfCall(call)
	}
	return tokens
}

func costOfCall(call llm.Call) int {
	return tokens.PerMessage + tokens.Estimate(call.ID) + tokens.Estimate(call.Name) + tokens.Estimate(call.Arguments)
}

// leastArguments is the least that a call's arguments are shrunk to, in tokens.
const leastArguments = 16

// shrinkCalls returns calls that cost at most so many tokens together, if the least
// allows it: the arguments of those that take more than their share are shrunk.
func shrinkCalls(calls []llm.Call, most int) []llm.Call {
	if costOfCalls(calls) <= most {
		return calls
	}
	shrunk := make([]llm.Call, len(calls))
	for i, call := range calls {
		shrunk[i] = call
		rest := costOfCall(call) - tokens.Estimate(call.Arguments)
		shrunk[i].Arguments = shrinkArguments(call.Arguments, max(most/len(calls)-rest, leastArguments))
	}
	return shrunk
}

// shrinkArguments returns a JSON object in about so many tokens: arguments as they
// are, or their beginning and end.
func shrinkArguments(arguments string, most int) string {
	if tokens.Estimate(arguments) <= most {
		return arguments
	}
	for room := most; room >= leastArguments/2; room -= max(room/8, 1) {
		shrunk, err := json.Marshal(map[string]string{"clipped": tokens.Clip(arguments, room)})
		if err == nil && tokens.Estimate(string(shrunk)) <= most { // quotes inside cost more than they did
			return string(shrunk)
		}
	}
	return "{}"
}
