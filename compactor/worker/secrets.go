package worker

import (
	"slices"

	"cairn/chat"
	"cairn/internal/secrets"
)

// WithoutSecrets returns copies of messages with the secrets in them masked.
func WithoutSecrets(messages []chat.Message) []chat.Message {
	masked := slices.Clone(messages)
	for i := range masked {
		m := &masked[i]
		m.Text = secrets.Mask(m.Text)
		m.Quote = secrets.Mask(m.Quote)
		m.Attachments = slices.Clone(m.Attachments)
		for k := range m.Attachments {
			a := &m.Attachments[k]
			a.Name = secrets.Mask(a.Name)
			a.Caption = secrets.Mask(a.Caption)
			a.Text = secrets.Mask(a.Text)
		}
	}
	return masked
}
