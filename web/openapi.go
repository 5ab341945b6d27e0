// GET /api/openapi.json: the OpenAPI document, generated from the table of routes.

package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/channel"
)

type object = map[string]any

func (e *endpoints) openAPI(*request) (object, error) {
	paths := map[string]object{}
	for _, r := range e.routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(method)] = operation(r)
	}
	doc := object{
		"openapi": "3.1.0",
		"info":    object{"title": "Cairn", "version": e.version, "description": "Conversations, summaries and memories of a running bot."},
		"paths":   paths,
		"components": object{
			"schemas":         object{"Problem": schemaOf(reflect.TypeFor[Problem]())},
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}, "session": object{"type": "apiKey", "in": "cookie", "name": sessionCookie}},
		},
	}
	if e.gate.auth.needed {
		doc["security"] = []object{{"token": []string{}}, {"session": []string{}}}
	}
	return doc, nil
}

func operation(r route) object {
	params := []object{}
	for _, p := range r.params() {
		in := cmp.Or(p.in, "query")
		params = append(params, object{"name": p.name, "in": in, "required": in == "path", "description": p.text, "schema": p.schema()})
	}
	failed := content("application/problem+json", object{"$ref": "#/components/schemas/Problem"})
	answers := object{"default": object{"description": "why not", "content": failed}}
	for _, status := range r.statuses {
		one := object{"description": http.StatusText(status)}
		switch {
		case status >= http.StatusBadRequest:
			one["content"] = failed
		case status != http.StatusNoContent:
			one["content"] = content("application/json", schemaOf(r.answer))
		}
		answers[strconv.Itoa(status)] = one
	}
	if r.events != nil {
		var all []*jsonschema.Schema
		for _, event := range []any{turnEvent{}, usageEvent{}, compactionEvent{}, memoryEvent{}, logLine{}, channel.Task{}, replyEvent{}, acceptedEvent{}, spentEvent{}} {
			all = append(all, schemaOf(reflect.TypeOf(event)))
		}
		stream := content("text/event-stream", object{"oneOf": all})
		answers["200"] = object{"description": "events; the data of each is one of these, by its kind", "content": stream}
	}
	if r.file != nil {
		files := object{}
		for _, kind := range r.types {
			files[kind] = object{"schema": object{"type": "string"}}
		}
		answers["200"] = object{"description": "the file", "content": files}
	}
	op := object{"summary": r.summary, "parameters": params, "responses": answers}
	if r.body != nil {
		op["requestBody"] = object{"content": content("application/json", schemaOf(r.body))}
	}
	return op
}

func content(kind string, schema any) object { return object{kind: object{"schema": schema}} }

// schemaOf returns the schema of a type. Later versions may add fields and leave some out, so it
// requires none and allows others. It panics if t has no schema, which is a programming error.
func schemaOf(t reflect.Type) *jsonschema.Schema {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		panic(err)
	}
	s.Title = t.Name()
	loosen(s)
	return s
}

// loosen removes the required fields of s, and its ban on others. Lists are never null.
func loosen(s *jsonschema.Schema) {
	s.Required = nil
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	if s.Items != nil {
		s.Type = "array"
		s.Types = nil
		loosen(s.Items)
	}
	if s.AdditionalProperties != nil {
		loosen(s.AdditionalProperties)
	}
	for _, property := range s.Properties {
		loosen(property)
	}
}
