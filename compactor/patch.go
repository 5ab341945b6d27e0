// Layers of settings: a patch sets some fields of a policy and leaves the others to the layers
// below it.

package compactor

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Patch is a layer of settings: values by key, as people write them. A missing key is inherited;
// false, 0 and "" are values like any other.
type Patch map[string]string

// Keys returns the keys of all settings of a policy, in the order of its fields.
func Keys() []string { return slices.Clone(keys) }

var keys = declared()

func declared() (keys []string) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Policy]()) {
		keys = append(keys, field.Tag.Get("toml"))
	}
	return keys
}

// PatchOf returns the patch that sets keys to p's values. Unknown keys are left out.
func PatchOf(p Policy, keys ...string) Patch {
	patch := make(Patch, len(keys))
	for _, key := range keys {
		if value := p.Get(key); value != nil {
			patch[key] = fmt.Sprint(value)
		}
	}
	return patch
}

// Merge lays patches on top of each other, the lowest first, into a new one.
func Merge(layers ...Patch) Patch {
	merged := Patch{}
	for _, layer := range layers {
		maps.Copy(merged, layer)
	}
	return merged
}

// Spawn returns the layers of a sub-agent: its definition's values, over them its parent's layers,
// over all the values of the call itself. The built-in defaults are not a layer, so an unset value
// does not hide the definition's. The result serves as the parent of the sub-agent's own
// sub-agents.
func Spawn(parent, definition, call Patch) Patch { return Merge(definition, parent, call) }

// Get returns the value of a setting: a bool, an int, a float64 or a text; nil for an unknown key.
func (p Policy) Get(key string) any {
	i := slices.Index(keys, key)
	if i < 0 {
		return nil
	}
	value := reflect.ValueOf(p).Field(i).Interface()
	if v, ok := value.(encoding.TextMarshaler); ok {
		text, _ := v.MarshalText() // a duration's cannot fail
		return string(text)
	}
	return value
}

// Value returns the value of a setting as a patch writes it; "" for an unknown key.
func (p Policy) Value(key string) string {
	if value := p.Get(key); value != nil {
		return fmt.Sprint(value)
	}
	return ""
}

// Over returns base with the patch's values in place of its own. Unknown keys and values that
// cannot be parsed are returned as errors and left out. Whether the values are consistent is for
// Validate.
func (patch Patch) Over(base Policy) (Policy, []*FieldError) {
	var wrong []*FieldError
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		next := base
		if err := next.set(key, patch[key]); err != nil {
			wrong = append(wrong, err)
		} else {
			base = next
		}
	}
	return base, wrong
}

// Fit is Over with only those values that make a valid policy; base must be valid. It returns an
// error for each value that is left out. Values that are valid only together are taken together, or
// each as soon as others make it valid.
func (patch Patch) Fit(base Policy) (Policy, []*FieldError) {
	fitted, wrong := patch.Over(base)
	if len(fitted.Validate()) == 0 {
		return fitted, wrong
	}
	fitted = base
	left := maps.Clone(patch)
	for _, e := range wrong {
		delete(left, e.Key)
	}
	again := true
	for again {
		again = false
		for _, key := range slices.Sorted(maps.Keys(left)) {
			next, _ := Patch{key: left[key]}.Over(fitted)
			if len(next.Validate()) == 0 {
				fitted = next
				again = true
				delete(left, key)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		next, _ := Patch{key: left[key]}.Over(fitted)
		fault := next.Validate()[0]
		if fault.Key != key { // two settings conflict, and the fault names the other
			fault = &FieldError{Key: key, Value: left[key], Want: "such that " + fault.Key + " is " + fault.Want, Hint: fault.Hint}
		}
		wrong = append(wrong, fault)
	}
	return fitted, wrong
}

// set sets a field to the value that text stands for. After an error p must not be used.
func (p *Policy) set(key, text string) *FieldError {
	i := slices.Index(keys, key)
	if i < 0 {
		return &FieldError{Key: key, Hint: DidYouMean(key, keys)}
	}
	var want string
	var err error
	switch into := reflect.ValueOf(p).Elem().Field(i).Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		want = `a duration like "90s" or "5m"`
		err = into.UnmarshalText([]byte(text))
	case *bool:
		want = "true or false"
		*into, err = strconv.ParseBool(text)
	case *int:
		want = "a whole number"
		*into, err = strconv.Atoi(text)
	case *float64:
		want = "a number"
		*into, err = strconv.ParseFloat(text, 64)
		if key == prepareKey && *into == unset {
			return PrepareUnset()
		}
	case *string:
		*into = text
	default: // a field of a new type; a test tries them all
		panic("no text can be read into " + key)
	}
	if err != nil {
		return &FieldError{Key: key, Value: text, Want: want}
	}
	return nil
}

const (
	prepareKey = "prepare_threshold"
	unset      = -1 // internal mark in PrepareThreshold, which settings must not use
)

// PrepareUnset returns the error for a prepare_threshold of -1, the internal mark for "not set".
func PrepareUnset() *FieldError {
	return &FieldError{Key: prepareKey, Value: unset, Want: "0 (off) or below background_threshold"}
}

// DidYouMean suggests the known word most similar to an unknown one, as the end of a sentence; ""
// if none is similar.
func DidYouMean(word string, known []string) string {
	best := ""
	least := 4
	for _, k := range known {
		if n := edits(word, k); n < least && n <= min(len(k), len(word))/2 {
			best = k
			least = n
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + best + "?"
}

// edits returns the number of characters to change, add or drop to turn a into b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}

// Nearest returns at most limit of known, the most similar to word first.
func Nearest(word string, known []string, limit int) []string {
	distance := make(map[string]int, len(known))
	for _, k := range known {
		distance[k] = edits(word, k)
		if strings.Contains(k, word) || strings.Contains(word, k) {
			distance[k] /= 4 // "gpt-5.1" for "gpt-5.1-2025-11-13"
		}
	}
	sorted := slices.Clone(known)
	slices.SortStableFunc(sorted, func(a, b string) int { return distance[a] - distance[b] })
	return sorted[:min(limit, len(sorted))]
}
