package llm

import "slices"

// Joined returns messages with neighbours in user role made one, their texts parted by
// a blank line: so a model's template shows them. Nothing of messages is changed.
func Joined(messages []Message) []Message {
	joined := make([]Message, 0, len(messages))
	for _, m := range messages {
		last := len(joined) - 1
		if last < 0 || m.Role != RoleUser || joined[last].Role != RoleUser {
			joined = append(joined, m)
			continue
		}
		joined[last].Text += "\n\n" + m.Text
		joined[last].Images = slices.Concat(joined[last].Images, m.Images)
	}
	return joined
}
