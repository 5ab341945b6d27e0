package channel

import "cairn/llm"

// illustrated loads the pictures that a request shows. What cannot be loaded, or
// would be refused, stays described in words.
func (c *conversation) illustrated(messages []llm.Message) []llm.Message {
	for i, m := range messages {
		if len(m.Images) == 0 {
			continue
		}
		images := m.Images[:0:0]
		for _, image := range m.Images {
			if c.blind {
				break
			}
			kind, data, err := c.records.File(c.hub.ctx, image.File)
			if err != nil {
				c.log.Warn("a picture cannot be shown to the model", "error", err)
				continue
			}
			image.Type, image.Data = kind, data
			images = append(images, image)
		}
		messages[i].Images = images
	}
	return messages
}
