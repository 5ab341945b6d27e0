// Pictures in requests and in the results of tools.

package channel

import (
	"maps"

	"cairn/chat"
	"cairn/llm"
)

// storePictures stores the pictures of a tool's result. If it cannot, the model gets the text alone, which mentions them.
func (c *conversation) storePictures(r *reply, result llm.Message) []chat.Attachment {
	if len(result.Images) == 0 {
		return nil
	}
	pictures := make([]chat.Attachment, len(result.Images))
	for i, image := range result.Images {
		pictures[i] = chat.Attachment{Kind: "image", Type: image.Type, Data: image.Data}
	}
	stored, err := c.records.Turns().AddPictures(c.hub.ctx, r.turn.Seq, pictures)
	if err != nil {
		c.log.Warn("store_image_failed", "error", err)
		return nil
	}
	return stored
}

// loadPictures loads the pictures of a request, and returns which; others are described in words.
func (c *conversation) loadPictures(messages []llm.Message) (shown map[int64]bool) {
	shown = make(map[int64]bool)
	blind := c.window.learnt().Facts().RefusesImages
	for i, m := range messages {
		if len(m.Images) == 0 {
			continue
		}
		images := m.Images[:0:0]
		for _, image := range m.Images {
			if blind || c.unfit[image.File] {
				continue
			}
			kind, data, err := c.records.Transcript().File(c.hub.ctx, image.File)
			if err != nil {
				c.log.Warn("load_image_failed", "error", err)
				continue
			}
			image.Type = kind
			image.Data = data
			images = append(images, image)
			shown[image.File] = true
		}
		messages[i].Images = images
	}
	return shown
}

// refused has pictures described in words from now on: all if the model accepts none, or those it was shown.
func (c *conversation) refused(shown map[int64]bool, err error) {
	if llm.TakesNoImages(err) {
		c.log.Info("model_without_images", "effect", "images are described in words", "model", c.agent.Model.Name())
		c.window.learnt().NoImages()
		return
	}
	c.log.Info("images_refused", "effect", "images are described in words", "model", c.agent.Model.Name(), "error", err)
	maps.Copy(c.unfit, shown)
}
