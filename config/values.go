// Checks of single values: by the tags of their fields, and of ids, addresses and names.

package config

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"cairn/compactor"
)

// checkField reports a value that is not in the range of its field, or none of its choices.
func (c *checker) checkField(tag reflect.StructTag, v reflect.Value, path string) {
	if within := tag.Get("range"); within != "" {
		if e := compactor.CheckRange(base(path), reflect.Indirect(v).Interface(), within); e != nil {
			c.report.problem(path, e.Error())
		}
	}
	if example := tag.Get("server"); example != "" {
		c.checkServer(path, v.String(), example)
	}
	if choices := strings.Fields(tag.Get("one")); len(choices) > 0 {
		value := v.String()
		optional := choices[0] == "-"
		if optional {
			choices = choices[1:]
		}
		want := fmt.Sprintf(`be one of "%s"%s`, strings.Join(choices, `", "`), compactor.DidYouMean(value, choices))
		c.report.must(slices.Contains(choices, value) || optional && value == "", path, value, want)
	}
}

// escapedByMistake matches a text with control characters, which "D:\bots" and "C:\temp" have, because \b and \t are escapes.
var escapedByMistake = regexp.MustCompile(`[\x00-\x08\x0b-\x1f]|^[A-Za-z]:[\t\n]`)

// checkText checks a text, whatever it is for.
func (c *checker) checkText(path, text string) {
	if escapedByMistake.MatchString(text) {
		c.report.problem(path, fmt.Sprintf("%s: has a control character: %s", base(path), backslashHint))
	}
	c.checkSecretFile(path, text)
}

// checkNewID reports the id of a table if it is missing, already used, or not of the form that form describes.
func (c *checker) checkNewID(path, id string, taken map[string]bool, good bool, form string) {
	switch {
	case id == "":
		c.report.problem(path+".id", "id: is missing; it must be of "+form)
	case taken[id]:
		c.report.problem(path+".id", fmt.Sprintf("id = %q: another one has this id", id))
	default:
		c.report.must(good, path+".id", id, "be of "+form)
	}
	taken[id] = true
}

// checkURL reports an address that is not one of HTTP.
func (c *checker) checkURL(path, value, example string) {
	u, err := url.Parse(value)
	ok := value == "" || err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	c.report.must(ok, path, MaskAddress(value), fmt.Sprintf("look like %q", example))
}

// checkServer reports an address that is none of HTTP, or to which no path can be appended.
func (c *checker) checkServer(path, value, example string) {
	c.checkURL(path, value, example)
	c.report.must(!strings.ContainsAny(value, "?#"), path, MaskAddress(value), `not have "?" or "#", because paths are appended`)
}

// checkNames reports names of something, say of a command, that are not in known.
func (c *checker) checkNames(path, something string, names, known []string) {
	for _, name := range names {
		if !slices.Contains(known, name) {
			c.report.problem(path, fmt.Sprintf("%s: there is no %s %q%s; there are %s", base(path), something, name, compactor.DidYouMean(name, known), cmp.Or(strings.Join(known, ", "), "none")))
		}
	}
}

// checkID reports an id that does not have the form of the connector's platform.
func (c *checker) checkID(path, connector, id string) {
	if form, known := idForms[connector]; known && !form.MatchString(id) {
		c.report.problem(path, fmt.Sprintf("%s: %q must be %s", base(path), id, form.words))
	}
}
