package command

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
)

const textMoreCommands = "People who manage this place have more commands."

// runHelp lists the commands of which the person may use at least a part.
func runHelp(_ context.Context, c *Call) (Answer, error) {
	var text strings.Builder
	columns := tabwriter.NewWriter(&text, 30, 0, 2, ' ', 0)
	more := false
	for _, command := range All {
		if command.anyone == nil && !c.mayRun(command) {
			more = true
			continue
		}
		fmt.Fprintf(columns, "%s\t%s\n", c.Speaker.Say("/"+command.Usage()), c.Speaker.Say(command.Help))
	}
	err := columns.Flush()
	if more {
		text.WriteString("\n" + c.Speaker.Translate(textMoreCommands))
	}
	return Answer{Text: strings.TrimSpace(text.String()), Aligned: true}, err
}
