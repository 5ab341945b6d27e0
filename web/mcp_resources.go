package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// resourceScheme is the scheme of resource URIs; a path of the API follows.
const resourceScheme = "cairn://"

// conversationURI matches the URI of a conversation, or of its messages or summaries.
var conversationURI = regexp.MustCompile(`^(cairn://conversations/)(.+?)((?:/messages|/summaries(?:/\d+)?)?)$`)

// canonicalURI percent-encodes the conversation's name as the URI templates do. Clients also send
// it unencoded: "terminal:general".
func canonicalURI(uri string) string {
	parts := conversationURI.FindStringSubmatch(uri)
	if parts == nil {
		return uri
	}
	name, err := url.PathUnescape(parts[2])
	if err != nil {
		return uri
	}
	return parts[1] + strings.ReplaceAll(url.QueryEscape(name), "+", "%20") + parts[3]
}

// readPlainNames is middleware that reads resources by their canonicalURI.
func readPlainNames(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		params, reads := r.GetParams().(*sdk.ReadResourceParams)
		if !reads {
			return next(ctx, method, r)
		}
		asked := params.URI
		params.URI = canonicalURI(asked)
		result, err := next(ctx, method, r)
		if read, ok := result.(*sdk.ReadResourceResult); ok && err == nil {
			for _, content := range read.Contents {
				content.URI = asked
			}
		}
		return result, err
	}
}

func (m mcpTools) resources() {
	m.server.AddReceivingMiddleware(readPlainNames)
	read := func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		path := "/api/" + strings.TrimPrefix(r.Params.URI, resourceScheme)
		text, err := m.ask(ctx, call{method: http.MethodGet, path: path})
		if p, ok := errors.AsType[*Problem](err); ok && p.Status == http.StatusNotFound {
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		}
		if err != nil {
			return nil, err
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: string(text)}}}, nil
	}
	for path, about := range map[string]string{
		"conversations": "The conversations, the one with the newest message first", "memories": "What the bot remembers, newest first", "usage": "What models were used for",
	} {
		m.server.AddResource(&sdk.Resource{URI: resourceScheme + path, Name: path, Description: about, MIMEType: "application/json"}, read)
	}
	for path, about := range map[string]string{
		"conversations/{name}":                "A conversation: how full its window is and of what, and its settings",
		"conversations/{name}/messages":       "Its newest messages",
		"conversations/{name}/summaries":      "The summaries in its prompt",
		"conversations/{name}/summaries/{id}": "A summary, and the messages behind it",
		"memories/{id}":                       "A memory and the messages it came from",
	} {
		m.server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: resourceScheme + path, Name: path, Description: about, MIMEType: "application/json"}, read)
	}
}
