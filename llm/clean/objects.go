// Calls in JSON values, however deep they are in other objects.

package clean

import (
	"bytes"
	"encoding/json"
	"slices"
)

// objects reads calls from objects.
type objects struct {
	tools  offered
	marked bool // a special mark is before them
	calls  callList
	inside int // objects around the one that is read
}

// object reads a call, or an object around calls.
func (o *objects) object(raw []byte) bool {
	const maxInside = 4 // objects in each other
	o.inside++
	defer func() { o.inside-- }()
	var fields map[string]json.RawMessage
	if o.inside > maxInside || json.Unmarshal(raw, &fields) != nil {
		return false
	}
	for _, key := range []string{"tool_calls", "tool_uses", "function_call"} {
		if inner := bytes.TrimSpace(fields[key]); len(inner) > 0 {
			return inner[0] == '[' && o.array(inner) || inner[0] == '{' && o.object(inner)
		}
	}
	if inner := bytes.TrimSpace(fields["function"]); len(inner) > 0 && inner[0] == '{' {
		return o.object(inner)
	}
	name := ""
	arguments := json.RawMessage(nil)
	for key, value := range fields {
		switch {
		case slices.Contains(argumentKeys, key):
			arguments = value
		case slices.Contains(nameKeys, key):
			var written string
			if json.Unmarshal(value, &written) == nil && (name == "" || key == "name") {
				name = written
			}
		case !slices.Contains(otherKeys, key):
			return o.keyed(fields)
		}
	}
	if name == "" || arguments == nil && !o.marked {
		return false
	}
	o.calls.add(name, unwrapped(arguments))
	return true
}

// keyed reads calls whose keys are the names of tools: {"lookup": {"word": "tea"}} (Apertus).
func (o *objects) keyed(fields map[string]json.RawMessage) bool {
	for name, arguments := range fields {
		if !o.marked || o.tools.tool(name) == nil || !bytes.HasPrefix(bytes.TrimSpace(arguments), []byte("{")) {
			return false
		}
	}
	for _, t := range o.tools {
		if arguments, ok := fields[t.Name]; ok {
			o.calls.add(t.Name, string(arguments))
		}
	}
	return true
}

// array reads a list of calls.
func (o *objects) array(raw []byte) bool {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil || len(all) == 0 {
		return false
	}
	for _, one := range all {
		if !o.object(one) {
			return false
		}
	}
	return true
}
