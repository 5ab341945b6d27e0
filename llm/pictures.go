package llm

import "context"

// resultPictures collects the pictures of the call that runs under a context.
type resultPictures struct{ all []Image }

type picturesOf struct{}

// AddPicture adds a picture to the result of the tool call that runs under a context. Its text should mention the
// picture, for models that cannot see and for when the picture is no longer sent. Outside a call it does nothing. It
// must not be called after the call has returned.
func AddPicture(ctx context.Context, picture Image) {
	collected, running := ctx.Value(picturesOf{}).(*resultPictures)
	if running {
		collected.all = append(collected.all, picture)
	}
}

// withPictures returns the context of one call, and what collects its pictures.
func withPictures(ctx context.Context) (context.Context, *resultPictures) {
	collected := new(resultPictures)
	return context.WithValue(ctx, picturesOf{}, collected), collected
}
