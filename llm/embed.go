package llm

import "context"

// Embedder turns texts into vectors, which are similar for texts that mean the same. Implementations are safe for concurrent use.
type Embedder interface {
	// Name identifies the model in logs, metrics and usage.
	Name() string
	// Space identifies the model with its server: vectors of different spaces cannot be compared.
	Space() string
	// Embed returns the vectors of the texts, in their order, all of one length. If the server's answer is something else, it
	// is an error. Errors of the server are of type *Error.
	Embed(ctx context.Context, texts []string) (vectors [][]float32, used Usage, err error)
}
