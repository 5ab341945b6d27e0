// The agents' own prompts for the worker.
package main

import (
	"log/slog"
	"sync/atomic"

	"cairn/config"
)

// promptFile returns a function that reads the agent's own prompt for the worker. It reads the file
// on each call, so that an edit applies from the next job on. Settings have checked that the file
// can be read; if that changes, it returns "", which selects the built-in prompt, and logs one
// warning until the file is readable again.
func promptFile(path func() string, log *slog.Logger) func() string {
	var warned atomic.Bool
	return func() string {
		file := path()
		if file == "" {
			return ""
		}
		text, err := config.ReadPrompt(file)
		switch {
		case err == nil:
			warned.Store(false)
		case !warned.Swap(true):
			log.Warn("read_prompt_file_failed", "error", err, "effect", "the built-in prompt is used")
		}
		return text
	}
}
