package llm

import (
	"errors"
	"fmt"
	"testing"
)

func TestRefusalsOfPicturesAreRecognised(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"OpenAI":                      {400, `{"error":{"message":"Invalid content type. image_url is only supported by certain models.","type":"invalid_request_error","param":"messages.[0].content.[1].type","code":null}}`},
		"OpenAI, a reasoning model":   {400, `{"error":{"message":"Invalid value: 'image_url'. Supported values are: 'text'.","type":"invalid_request_error","param":"messages[0].content[1].type","code":"invalid_value"}}`},
		"OpenAI, an audio model":      {400, `{"error":{"message":"This model does not support image_url content.","type":"invalid_request_error"}}`},
		"OpenRouter":                  {404, `{"error":{"message":"No endpoints found that support image input","code":404}}`},
		"vLLM":                        {400, `{"object":"error","message":"Qwen/Qwen3-8B is not a multimodal model","type":"BadRequestError","param":null,"code":400}`},
		"vLLM, inside a stream":       {0, `{"error":{"message":"DeepSeek-V4-Flash is not a multimodal model","type":"BadRequestError","code":400}}`},
		"llama.cpp":                   {500, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`},
		"llama.cpp, older":            {500, `{"error":{"code":500,"message":"image input is not supported by this server","type":"server_error"}}`},
		"llama.cpp, oldest":           {400, `{"error":{"code":400,"message":"unsupported content[].type","type":"invalid_request_error"}}`},
		"llama-cpp-python":            {500, `{"error":{"message":"Image input detected, but the loaded model is not configured with a mmproj module."}}`},
		"Ollama":                      {400, `{"error":{"message":"this model does not support image input (ref: b8bd630e)","type":"api_error"}}`},
		"Ollama, local":               {400, `{"error":{"code":400,"message":"Multimodal data provided, but model does not support multimodal requests."}}`},
		"Ollama, a part is missing":   {500, `{"error":{"message":"Failed to create new sequence: failed to process inputs: this model is missing data required for image input","type":"api_error"}}`},
		"LM Studio":                   {400, `{"error":"Model does not support images. Please use a model that does."}`},
		"DeepSeek":                    {400, "{\"error\":{\"message\":\"Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 746109\",\"type\":\"invalid_request_error\"}}"},
		"DeepSeek, older":             {422, `{"error":{"message":"Failed to deserialize the JSON body into the target type: messages[2]: invalid type: sequence, expected a string at line 1 column 2901"}}`},
		"DeepSeek, oldest":            {422, `{"error":{"message":"Failed to deserialize the JSON body into the target type: messages[2]: data did not match any variant of untagged enum ChatCompletionRequestContent at line 1 column 15700"}}`},
		"Groq":                        {400, `{"error":{"message":"message[4].content must be a string","type":"invalid_request_error"}}`},
		"Groq, longer":                {400, `{"error":{"message":"'messages.0' : for 'role:user' the following must be satisfied[('messages.0.content' : value must be a string)]","type":"invalid_request_error"}}`},
		"Mistral":                     {400, `{"object":"Error","message":"Image input is not enabled for this model","type":"invalid_request_error","code":3051}`},
		"Gemini":                      {400, `[{"error":{"code":400,"message":"Image input modality is not enabled for models/gemma-3-1b-it","status":"INVALID_ARGUMENT"}}]`},
		"xAI":                         {400, `{"code":"Client specified an invalid argument","error":"Invalid request content: Image inputs are not supported by this model."}`},
		"Bedrock":                     {400, `{"message":"This model doesn't support the image content block that you provided. Update the content block and try again."}`},
		"Bedrock, another model":      {400, `{"message":"This model doesn't support the image field for user messages. Remove image and try again."}`},
		"LiteLLM, of Bedrock":         {400, `{"error":{"message":"litellm.BadRequestError: BedrockException - {\"message\":\"This model doesn't support the image content block that you provided.\"}","type":null}}`},
		"a gateway in Python":         {400, `{"error":{"message":"Error code: 400 - {'error': {'message': 'Invalid content type. image_url is only supported by certain models.', 'type': 'invalid_request_error'}}"}}`},
		"mlx-lm":                      {404, `{"error":"Only 'text' content type is supported."}`},
		"Zhipu":                       {400, `{"error":{"code":"1210","message":"messages.content.type 参数非法，取值范围 ['text']"}}`},
		"DashScope":                   {400, `{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Unexpected item type in content.","type":"invalid_request_error"}}`},
		"a server of text alone":      {422, `{"detail":"Validation Error","errors":[{"loc":"body -> messages -> 0 -> content","msg":"Input should be 'text'","type":"literal_error"}]}`},
		"xLLM":                        {400, `{"error":{"message":"Non-text content requires multimodal endpoint"}}`},
		"in general words":            {400, `{"error":{"message":"Vision is not supported by this model"}}`},
		"one picture":                 {400, `{"error":{"message":"the selected model does not support image."}}`},
		"too many for a route":        {400, `{"error":{"message":"Too many images in request: 54 > 30"}}`},
		"too many for Claude":         {400, `{"type":"error","error":{"type":"invalid_request_error","message":"Too much media: 0 document pages + 102 images > 100"}}`},
		"too many for vLLM":           {400, `{"object":"error","message":"At most 1 image(s) may be provided in one request.","type":"BadRequestError","code":400}`},
		"none for vLLM":               {400, `{"object":"error","message":"At most 0 image(s) may be provided in one prompt.","type":"BadRequestError","code":400}`},
		"too large for Claude":        {400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"}}`},
		"too many pixels for Claude":  {400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"}}`},
		"broken, Claude":              {400, `{"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}`},
		"broken, Gemini":              {400, `{"error":{"code":400,"message":"Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting","status":"INVALID_ARGUMENT"}}`},
		"broken, Gemini, other words": {400, `[{"error":{"code":400,"message":"Provided image is not valid","status":"INVALID_ARGUMENT"}}]`},
		"broken, OpenAI":              {400, `{"error":{"message":"You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].","type":"invalid_request_error","code":"invalid_image_format"}}`},
		"a proxy's limit":             {413, `<html><head><title>413 Request Entity Too Large</title></head></html>`},
	} {
		t.Run(name, func(t *testing.T) {
			err := Refused(c.status, nil, []byte(c.body))
			if !RefusesImages(fmt.Errorf("the turn failed: %w", err)) {
				t.Errorf("%q is not seen", err)
			}
			if err.Temporary() {
				t.Errorf("%q would be tried again unchanged", err)
			}
			if RefusesTools(err) {
				t.Errorf("%q is taken for a refusal of tools", err)
			}
		})
	}
}

func TestRefusalsOfPicturesAreNotSeenInOtherFailures(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"what somebody said, as input":     {422, `{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required","input":{"content":"my model does not support image input"}}]}`},
		"what somebody said, by pydantic":  {422, `{"detail":"1 validation error for Request\nmessages.3.name\n  String should match pattern [type=string_pattern, input_value='it does not support images', input_type=str]"}`},
		"what somebody said, quoted":       {400, `{"error":{"message":"Invalid value for 'messages[3].content': \"why is image input not supported? it does not support images\" was filtered"}}`},
		"what somebody said, in backticks": {400, "{\"error\":{\"message\":\"template failed at `the model does not support images` on line 3\"}}"},
		"what somebody said, apostrophes":  {400, `{"error":{"message":"cannot parse 'that's how it is: my model doesn't support images, it's blind' as JSON"}}`},
		"the making of pictures":           {400, `{"error":{"message":"This model does not support image generation."}}`},
		"pictures as output":               {404, `{"error":{"message":"No endpoints found that support the requested output modalities: image, text","code":404}}`},
		"tools":                            {400, `{"error":{"message":"gemma3:12b does not support tools"}}`},
		"sound":                            {400, `{"error":{"message":"Audio input modality is not enabled for this model"}}`},
		"a revision":                       {400, `{"error":{"message":"The revision does not support this"}}`},
		"an overflow":                      {400, `{"error":{"message":"This model's maximum context length is 8192 tokens, images included. However, you requested 9001 tokens."}}`},
		"a wrong value":                    {400, `{"error":{"message":"Invalid value: 'image'. Supported values are: 'text' and 'image_url'."}}`},
		"a wrong key":                      {401, `{"error":{"message":"Incorrect API key provided"}}`},
		"a failing server":                 {500, `{"error":{"message":"the image of the container is not available"}}`},
		"a name":                           {404, `{"error":{"message":"The model 'vision-1' does not exist"}}`},
		"another part":                     {400, `{"error":{"message":"tool content must be a list"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Refused(c.status, nil, []byte(c.body)); RefusesImages(err) {
				t.Errorf("%q is taken for a refusal of pictures", err)
			}
		})
	}
	for _, err := range []error{nil, errors.New("it does not support images")} {
		if RefusesImages(err) {
			t.Errorf("%v is no provider's refusal", err)
		}
	}
}
