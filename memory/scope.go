// Scopes: whose memories a query may find.

package memory

import "strings"

// scope is the conversations, by number, in which a query searches. It is set by
// code and never by what somebody asks for. Nil is everywhere: for the shell alone.
type scope []int64

var everywhere scope

// where is the condition that holds a query to the scope, and its arguments.
func (s scope) where() (condition string, args []any) {
	if s == nil {
		return "true", nil
	}
	for _, id := range s {
		args = append(args, id)
	}
	return "conversation IN (" + strings.TrimSuffix(strings.Repeat("?, ", len(s)), ", ") + ")", args
}
