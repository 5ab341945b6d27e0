// Validation of models, servers and keys.

package config

import (
	"fmt"
	"regexp"
	"strings"

	"cairn/compactor"
)

// providerID is the form of a provider's id.
var providerID = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// checkModels reports mistakes in [llm] and [[providers]].
func (d *decoder) checkModels(s *Settings) {
	d.checkServer("llm.base_url", s.LLM.BaseURL, "http://localhost:11434/v1")
	d.checkKey(s, "llm.api_key", s.LLM.APIKey, OpenAI.Key)
	d.checkChoiceIfSet("llm.wire", s.LLM.Wire, wires)
	ids := map[string]bool{}
	for i, p := range s.Providers {
		path := fmt.Sprintf("providers.%d", i)
		switch {
		case p.ID == "":
			d.problem(path+".id", `id: is missing; models are named with it, as in model = "id/model"`)
		case !providerID.MatchString(p.ID):
			d.problem(path+".id", fmt.Sprintf(`id = %q: must be of letters, digits, "-", "_" and "."`, p.ID))
		case ids[p.ID]:
			d.problem(path+".id", fmt.Sprintf("id = %q: another provider has this id", p.ID))
		}
		ids[p.ID] = true
		if p.BaseURL == "" {
			d.problem(path+".base_url", fmt.Sprintf("base_url: is missing; as %q, %q or %q", OpenAIURL, AnthropicURL, "http://localhost:11434/v1"))
		}
		d.checkServer(path+".base_url", p.BaseURL, "http://localhost:11434/v1")
		d.checkKey(s, path+".api_key", p.APIKey, "")
		d.checkChoiceIfSet(path+".wire", p.Wire, wires)
	}
	d.checkModel("llm.model", s, s.LLM.Model, s.LLM.BaseURL)
}

// checkModel reports a model whose provider is not defined. baseURL is the server it is requested
// from if "provider/model" is only a name.
func (d *decoder) checkModel(path string, s *Settings, model, baseURL string) {
	id, _, cut := strings.Cut(model, "/")
	if !cut || len(s.Providers) == 0 {
		return
	}
	if _, name, found := s.providerOf(model); found {
		if name == "" {
			d.problem(path, fmt.Sprintf("%s = %q: names a provider without a model; remove the setting, or write %q", base(path), model, id+"/MODEL"))
		}
		return
	}
	var ids []string
	for _, p := range s.Providers {
		ids = append(ids, p.ID)
	}
	text := fmt.Sprintf("%s = %q: there is no provider %q%s; there are %s", base(path), model, id, compactor.DidYouMean(id, ids), strings.Join(ids, ", "))
	_, elsewhere, _ := s.server(baseURL, s.LLM.Wire) // an unreadable key is reported elsewhere
	if !elsewhere {
		d.problem(path, text+fmt.Sprintf(`; for a model with this name, write %q, or set base_url under [llm]`, ids[0]+"/"+model))
	}
}

// checkKey reports a key that cannot be read, and warns about a key in plain text.
func (d *decoder) checkKey(s *Settings, path, setting, variable string) {
	_, plain, err := s.modelKey(setting)
	switch {
	case err != nil:
		d.problem(path, fmt.Sprintf("%s: %v", base(path), err))
	case plain:
		text := `the key is in this file in plain text; move it to a separate file and write "file:PATH", or to the environment and write "env:NAME"`
		if variable != "" {
			text += ", or leave it out and set " + variable
		}
		d.warn(path, base(path)+": "+text)
	}
}
