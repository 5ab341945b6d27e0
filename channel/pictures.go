// Pictures in requests and in the results of tools.

package channel

import (
	"context"
	"log/slog"
	"maps"

	"cairn/chat"
	"cairn/llm"
	"cairn/store"
)

// pictures loads the pictures of requests for one model, and knows which it refuses.
type pictures struct {
	records *store.Conversation
	log     *slog.Logger
	window  *window        // of the model
	unfit   map[int64]bool // the pictures that the model refused, by file
}

// store stores the pictures of a tool's result. If it cannot, the model gets the text alone, which mentions them.
func (p *pictures) store(ctx context.Context, turn int64, result llm.Message) []chat.Attachment {
	if len(result.Images) == 0 {
		return nil
	}
	all := make([]chat.Attachment, len(result.Images))
	for i, image := range result.Images {
		all[i] = chat.Attachment{Kind: "image", Type: image.Type, Data: image.Data}
	}
	stored, err := p.records.Turns().AddPictures(ctx, turn, all)
	if err != nil {
		p.log.Warn("store_image_failed", "error", err)
		return nil
	}
	return stored
}

// load loads the pictures of a request, and returns which; others are described in words.
func (p *pictures) load(ctx context.Context, messages []llm.Message) (loaded map[int64]bool) {
	loaded = make(map[int64]bool)
	blind := p.window.learned().Facts().RefusesImages
	for i, m := range messages {
		if len(m.Images) == 0 {
			continue
		}
		images := m.Images[:0:0]
		for _, image := range m.Images {
			if blind || p.unfit[image.File] {
				continue
			}
			kind, data, err := p.records.Transcript().File(ctx, image.File)
			if err != nil {
				p.log.Warn("load_image_failed", "error", err)
				continue
			}
			image.Type = kind
			image.Data = data
			images = append(images, image)
			loaded[image.File] = true
		}
		messages[i].Images = images
	}
	return loaded
}

// refuse has pictures described in words from now on: all if the model accepts none, or those it was sent.
func (p *pictures) refuse(loaded map[int64]bool, err error) {
	if llm.TakesNoImages(err) {
		p.log.Info("model_without_images", "effect", "images are described in words", "model", p.window.model.Name())
		p.window.learned().NoImages()
		return
	}
	p.log.Info("images_refused", "effect", "images are described in words", "model", p.window.model.Name(), "error", err)
	maps.Copy(p.unfit, loaded)
}
