// GET /api/openapi.json: the OpenAPI document, generated from the table of routes.
package web

import (
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/channel"
)

func (s *Server) openAPI(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, http.StatusOK, s.document())
}

type object = map[string]any

// document returns the API as OpenAPI 3.1.
func (s *Server) document() object {
	schemas, paths := schemas{}, object{}
	for _, r := range s.routes() {
		item, _ := paths[r.path].(object)
		if item == nil {
			item = object{}
			paths[r.path] = item
		}
		item[strings.ToLower(r.method)] = schemas.operation(r)
	}
	schemas.of(reflect.TypeFor[Problem]())
	doc := object{
		"openapi": "3.1.0",
		"info":    object{"title": "Cairn", "version": s.o.Version, "description": "Conversations, summaries and memories of a running bot."},
		"paths":   paths,
		"components": object{
			"schemas":         object(schemas),
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}, "session": object{"type": "apiKey", "in": "cookie", "name": sessionCookie}},
		},
	}
	if s.auth.needed {
		doc["security"] = []object{{"token": []string{}}, {"session": []string{}}}
	}
	return doc
}

var pathParams = regexp.MustCompile(`\{(\w+)\}`)

// schemas are the named schemas of the document.
type schemas object

func (all schemas) operation(r route) object {
	params := []object{}
	for _, match := range pathParams.FindAllStringSubmatch(r.path, -1) {
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
			one["content"] = content("application/json", all.of(reflect.TypeOf(v)))
		case status >= http.StatusBadRequest:
			one["content"] = failed
		}
		answers[strconv.Itoa(status)] = one
	}
	if r.stream && r.answers == nil {
		params = append(params, object{"name": "Last-Event-ID", "in": "header", "description": "go on behind this event", "schema": object{"type": "string"}})
		answers["200"] = object{"description": "events; the data of each is one of these, by its kind", "content": content("text/event-stream", object{"oneOf": []object{
			all.of(reflect.TypeFor[turnEvent]()), all.of(reflect.TypeFor[usageEvent]()), all.of(reflect.TypeFor[compactionEvent]()),
			all.of(reflect.TypeFor[memoryEvent]()), all.of(reflect.TypeFor[incidentEvent]()), all.of(reflect.TypeFor[channel.Task]()),
		}})}
	}
	op := object{"summary": r.summary, "parameters": params, "responses": answers}
	if r.body != nil {
		op["requestBody"] = object{"content": content("application/json", all.of(reflect.TypeOf(r.body)))}
	}
	return op
}

func content(kind string, schema object) object { return object{kind: object{"schema": schema}} }

// schemaPath is the path of named schemas.
const schemaPath = "#/components/schemas/"

// of returns the schema of a type. A struct is defined once, by name.
func (all schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		return object{"anyOf": []object{all.of(t.Elem()), {"type": "null"}}}
	case t.Kind() == reflect.Slice:
		return object{"type": "array", "items": all.of(t.Elem())}
	case t.Kind() == reflect.Map:
		return object{"type": "object", "additionalProperties": all.of(t.Elem())}
	case t.Kind() == reflect.Struct:
		name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
		if _, known := all[name]; !known {
			all[name] = object{} // the type may contain itself
			properties := object{}
			all.fields(t, properties)
			all[name] = object{"type": "object", "properties": properties}
		}
		return object{"$ref": schemaPath + name}
	case t.Kind() == reflect.Bool:
		return object{"type": "boolean"}
	case t.Kind() == reflect.Float64:
		return object{"type": "number"}
	case t.Kind() == reflect.String:
		return object{"type": "string"}
	case slices.Contains([]reflect.Kind{reflect.Int, reflect.Int64}, t.Kind()):
		return object{"type": "integer"}
	}
	return object{} // any value
}

// fields adds the fields of a struct, including embedded ones.
func (all schemas) fields(t reflect.Type, into object) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			all.fields(f.Type, into)
		case !f.IsExported() || name == "-":
		default:
			if name == "" {
				name = f.Name
			}
			field := all.of(f.Type)
			if text := f.Tag.Get("doc"); text != "" {
				field["description"] = text
			}
			into[name] = field
		}
	}
}
