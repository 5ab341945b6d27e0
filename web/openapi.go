// GET /api/openapi.json: the OpenAPI document, generated from the table of routes.

package web

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/channel"
	"cairn/internal/lazy"
)

type object = map[string]any

// openAPI returns the API as OpenAPI 3.1.
func (s *Server) openAPI(_ *request) (any, error) {
	paths := object{}
	for _, r := range s.routes() {
		item, _ := paths[r.path].(object)
		if item == nil {
			item = object{}
			paths[r.path] = item
		}
		item[strings.ToLower(r.method)] = operation(r)
	}
	doc := object{
		"openapi": "3.1.0",
		"info":    object{"title": "Cairn", "version": s.o.Version, "description": "Conversations, summaries and memories of a running bot."},
		"paths":   paths,
		"components": object{
			"schemas":         object{"Problem": schemaOf(reflect.TypeFor[Problem]())},
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}, "session": object{"type": "apiKey", "in": "cookie", "name": sessionCookie}},
		},
	}
	if s.auth.needed {
		doc["security"] = []object{{"token": []string{}}, {"session": []string{}}}
	}
	return doc, nil
}

var pathParams = lazy.Pattern(`\{(\w+)\}`)

func operation(r route) object {
	params := []object{}
	for _, match := range pathParams().FindAllStringSubmatch(r.path, -1) {
		kind, text := "string", "percent-encoded: terminal:garden, discord:1%2F2"
		if match[1] == "id" {
			kind, text = "integer", "its number"
		}
		params = append(params, object{"name": match[1], "in": "path", "required": true, "description": text, "schema": object{"type": kind}})
	}
	for _, p := range r.query {
		params = append(params, object{"name": p.name, "in": "query", "description": p.text, "schema": object{"type": "string"}})
	}
	failed := content("application/problem+json", object{"$ref": "#/components/schemas/Problem"})
	answers := object{"default": object{"description": "why not", "content": failed}}
	for status, v := range r.answers {
		one := object{"description": http.StatusText(status)}
		switch {
		case v != nil:
			one["content"] = content("application/json", schemaOf(reflect.TypeOf(v)))
		case status >= http.StatusBadRequest:
			one["content"] = failed
		}
		answers[strconv.Itoa(status)] = one
	}
	if r.events != nil {
		params = append(params, object{"name": "Last-Event-ID", "in": "header", "description": "resume after this event", "schema": object{"type": "string"}})
		answers["200"] = object{"description": "events; the data of each is one of these, by its kind", "content": content("text/event-stream", object{"oneOf": []*jsonschema.Schema{
			schemaOf(reflect.TypeFor[turnEvent]()), schemaOf(reflect.TypeFor[usageEvent]()), schemaOf(reflect.TypeFor[compactionEvent]()),
			schemaOf(reflect.TypeFor[memoryEvent]()), schemaOf(reflect.TypeFor[incidentEvent]()), schemaOf(reflect.TypeFor[channel.Task]()), schemaOf(reflect.TypeFor[replyEvent]()),
		}})}
	}
	op := object{"summary": r.summary, "parameters": params, "responses": answers}
	if r.body != nil {
		op["requestBody"] = object{"content": content("application/json", schemaOf(reflect.TypeOf(r.body)))}
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
		s.Type, s.Types = "array", nil
		loosen(s.Items)
	}
	if s.AdditionalProperties != nil {
		loosen(s.AdditionalProperties)
	}
	for _, property := range s.Properties {
		loosen(property)
	}
}
