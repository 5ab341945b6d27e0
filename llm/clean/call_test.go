package clean

import (
	"strings"
	"testing"

	"cairn/llm"
	"cairn/testkit/check"
)

// callTexts are calls as models write them into their text.
var callTexts = map[string]struct {
	text  string
	calls string // each as name and arguments, by lines
	rest  string // the text that remains
}{
	"hermes":                            {"<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}\n</tool_call>", `lookup {"word": "tea"}`, ""},
	"hermes without end":                {"<tool_call>{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}", `lookup {"word": "tea"}`, ""},
	"hermes twice":                      {"<tool_call>{\"name\":\"lookup\",\"arguments\":{\"word\":\"a\"}}</tool_call>\n<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call><|im_end|>", "lookup {\"word\":\"a\"}\nnow {}", ""},
	"behind a thought":                  {"<think>I look.</think>\n\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>", "now {}", ""},
	"behind text":                       {"Let me look that up.\n<tool_call>{\"name\":\"lookup\",\"arguments\":{\"word\":\"tea\"}}</tool_call>", `lookup {"word":"tea"}`, "Let me look that up."},
	"qwen 3 coder":                      {"<tool_call>\n<function=lookup>\n<parameter=word>\ngreen tea\n</parameter>\n<parameter=limit>\n3\n</parameter>\n</function>\n</tool_call>", `lookup {"limit":3,"word":"green tea"}`, ""},
	"a function":                        {"<function=lookup>{\"word\": \"tea\"}</function>", `lookup {"word": "tea"}`, ""},
	"a text for a text":                 {"<function=lookup>\n<parameter=word>\n42\n</parameter>\n</function>", `lookup {"word":"42"}`, ""},
	"mistral":                           {"[TOOL_CALLS][{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}]", `lookup {"word": "tea"}`, ""},
	"mistral 3":                         {"[TOOL_CALLS]lookup[ARGS]{\"word\": \"tea\"}", `lookup {"word": "tea"}`, ""},
	"mistral 3 twice":                   {"[TOOL_CALLS]lookup[CALL_ID]a1b2[ARGS]{\"word\": \"tea\"}[TOOL_CALLS]now[ARGS]{}</s>", "lookup {\"word\": \"tea\"}\nnow {}", ""},
	"mistral's arguments":               {"lookup[ARGS]{\"word\": \"tea\"}", `lookup {"word": "tea"}`, ""},
	"gpt-oss without special tokens":    {"analysisI look it up.assistantcommentary to=functions.lookup json{\"word\": \"tea\"}", `lookup {"word": "tea"}`, ""},
	"gpt-oss without tokens or thought": {"commentary to=functions.lookup json{\"word\": \"tea\"}", `lookup {"word": "tea"}`, ""},
	"lm studio":                         {"[TOOL_REQUEST]{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}[END_TOOL_REQUEST]", `lookup {"word": "tea"}`, ""},
	"brackets":                          {"[TOOL_CALL]{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}[/TOOL_CALL]", `lookup {"word": "tea"}`, ""},
	"an action":                         {"{\"action\": \"lookup\", \"action_input\": {\"word\": \"tea\"}}", `lookup {"word": "tea"}`, ""},
	"tool uses":                         {"{\"tool_uses\": [{\"recipient_name\": \"functions.lookup\", \"parameters\": {\"word\": \"tea\"}}]}", `lookup {"word": "tea"}`, ""},
	"fenced":                            {"```json\n{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}\n```", `lookup {"word": "tea"}`, ""},
	"bare":                              {"{\"name\": \"lookup\", \"parameters\": {\"word\": \"tea\"}}", `lookup {"word": "tea"}`, ""},
	"bare list":                         {"[{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}, {\"name\": \"now\", \"arguments\": {}}]", "lookup {\"word\": \"tea\"}\nnow {}", ""},
	"as in the API":                     {"{\"type\": \"function\", \"function\": {\"name\": \"lookup\", \"arguments\": \"{\\\"word\\\": \\\"tea\\\"}\"}}", `lookup {"word": "tea"}`, ""},
	"llama":                             {"<|python_tag|>{\"type\": \"function\", \"name\": \"lookup\", \"parameters\": {\"word\": \"tea\"}}<|eom_id|>", `lookup {"word": "tea"}`, ""},
	"llama's own tools":                 {"<|python_tag|>lookup.call(word=\"tea\")<|eom_id|>", `lookup {"word":"tea"}`, ""},
	"llama 4":                           {"<|python_start|>[lookup(word=\"tea\", limit=3), now()]<|python_end|>", "lookup {\"limit\":3,\"word\":\"tea\"}\nnow {}", ""},
	"a program":                         {"[lookup(word='tea', all=True, tags=[\"a\", \"b\"])]", `lookup {"all":true,"tags":["a","b"],"word":"tea"}`, ""},
	"deepseek v3":                       {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>lookup\n```json\n{\"word\": \"tea\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", `lookup {"word": "tea"}`, ""},
	"deepseek v3.1":                     {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>lookup<｜tool▁sep｜>{\"word\": \"tea\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>", `lookup {"word": "tea"}`, ""},
	"deepseek v3.2":                     {"<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"lookup\">\n<｜DSML｜parameter name=\"word\" string=\"true\">42</｜DSML｜parameter>\n<｜DSML｜parameter name=\"limit\" string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", `lookup {"limit":3,"word":"42"}`, ""},
	"glm":                               {"<tool_call>lookup\n<arg_key>word</arg_key>\n<arg_value>tea</arg_value>\n<arg_key>limit</arg_key>\n<arg_value>3</arg_value>\n</tool_call>", `lookup {"limit":3,"word":"tea"}`, ""},
	"glm without arguments":             {"<tool_call>now\n</tool_call>", "now {}", ""},
	"minimax":                           {"<minimax:tool_call>\n<invoke name=\"lookup\">\n<parameter name=\"word\">tea</parameter>\n</invoke>\n</minimax:tool_call>", `lookup {"word":"tea"}`, ""},
	"minimax m3":                        {"]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"lookup\">]<]minimax[>[<word>tea]<]minimax[>[</word>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>", `lookup {"word":"tea"}`, ""},
	"claude":                            {"<function_calls>\n<invoke name=\"lookup\">\n<parameter name=\"word\">tea</parameter>\n<parameter name=\"limit\">3</parameter>\n</invoke>\n</function_calls>", `lookup {"limit":3,"word":"tea"}`, ""},
	"kimi k2":                           {"<|tool_calls_section_begin|><|tool_call_begin|>functions.lookup:0<|tool_call_argument_begin|>{\"word\": \"tea\"}<|tool_call_end|><|tool_calls_section_end|>", `lookup {"word": "tea"}`, ""},
	"kimi k3":                           {"<|open|>tools<|sep|><|open|>call tool=\"lookup\" index=\"1\"<|sep|><|open|>argument key=\"word\" type=\"string\"<|sep|>tea<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>", `lookup {"word":"tea"}`, ""},
	"gemma 3":                           {"```tool_code\nprint(lookup(word=\"tea\"))\n```", `lookup {"word":"tea"}`, ""},
	"gemma 4":                           {"<|tool_call>call:lookup{word:<|\"|>tea<|\"|>,limit:3}<tool_call|>", `lookup {"limit":3,"word":"tea"}`, ""},
	"function gemma":                    {"<start_function_call>call:lookup{word:<escape>tea<escape>}<end_function_call>", `lookup {"word":"tea"}`, ""},
	"granite":                           {"<|tool_call|>[{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}]", `lookup {"word": "tea"}`, ""},
	"nemotron":                          {"<TOOLCALL>[{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}]</TOOLCALL>", `lookup {"word": "tea"}`, ""},
	"command":                           {"<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"lookup\", \"parameters\": {\"word\": \"tea\"}}\n]<|END_ACTION|>", `lookup {"word": "tea"}`, ""},
	"apertus":                           {"<|tools_prefix|>[{\"lookup\": {\"word\": \"tea\"}}]<|tools_suffix|>", `lookup {"word": "tea"}`, ""},
	"lfm":                               {"<|tool_call_start|>[lookup(word=\"tea\")]<|tool_call_end|>", `lookup {"word":"tea"}`, ""},
	"internlm":                          {"<|action_start|><|plugin|>{\"name\": \"lookup\", \"parameters\": {\"word\": \"tea\"}}<|action_end|>", `lookup {"word": "tea"}`, ""},
	"hunyuan":                           {"<tool_calls>[{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}]</tool_calls>", `lookup {"word": "tea"}`, ""},
	"step":                              {"<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"lookup\"><steptml:parameter name=\"word\">tea</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>", `lookup {"word":"tea"}`, ""},
	"gpt-oss":                           {"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.lookup <|constrain|>json<|message|>{\"word\": \"tea\"}<|call|>", `lookup {"word": "tea"}`, ""},
	"an unknown tool":                   {"<tool_call>{\"name\": \"search\", \"arguments\": {\"q\": \"tea\"}}</tool_call>", `search {"q": "tea"}`, ""},
	"broken":                            {"<tool_call>{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea}}</tool_call>", `lookup {"word": "tea}}`, ""},
	"cut off":                           {"<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"wo", `lookup {"wo`, ""},
	"a result made up":                  {"<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>\n<tool_response>\n14:05\n</tool_response>\nIt is five past two.", "now {}", ""},
	"no arguments":                      {"<tool_call>{\"name\": \"now\"}</tool_call>", "now {}", ""},

	"an element of the tool":         {"<lookup>{\"word\": \"tea\"}</lookup>", `lookup {"word": "tea"}`, ""},
	"elements of the tool":           {"<lookup>\n<word>tea</word>\n<limit>3</limit>\n</lookup>", `lookup {"limit":3,"word":"tea"}`, ""},
	"an element with a value":        {"<lookup>tea</lookup>", `lookup {"word":"tea"}`, ""},
	"an element with attributes":     {"<lookup word=\"a &lt; b\" limit=\"3\"/>", `lookup {"limit":3,"word":"a < b"}`, ""},
	"attributes behind text":         {"Let me look.\n<lookup word=\"tea\"></lookup>", `lookup {"word":"tea"}`, "Let me look."},
	"an element behind text":         {"Let me look.\n<lookup>{\"word\": \"tea\"}</lookup>", `lookup {"word": "tea"}`, "Let me look."},
	"an element that is cut off":     {"<lookup>{\"word\": \"te", `lookup {"word": "te`, ""},
	"tools":                          {"<tools>\n{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}\n</tools>", `lookup {"word": "tea"}`, ""},
	"tools without an end":           {"<tools>{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}} </tool", `lookup {"word": "tea"}`, ""},
	"a function-call":                {"<function-call> {\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}", `lookup {"word": "tea"}`, ""},
	"a function of Qwen":             {"<function>\n{\"name\": \"now\", \"arguments\": {}}\n</function>", `now {}`, ""},
	"tools behind text":              {"Let me look.\n\n<tools>{\"name\": \"now\", \"arguments\": {}}</tools>", `now {}`, "Let me look."},
	"flowers":                        {"✿FUNCTION✿: lookup\n✿ARGS✿: {\"word\": \"tea\"}", `lookup {"word": "tea"}`, ""},
	"flowers in a line":              {"✿FUNCTION✿: lookup ✿ARGS✿: {\"word\": \"tea\"}\n✿RESULT✿: hot\n✿RETURN✿: Tea is hot.", `lookup {"word": "tea"}`, ""},
	"flowers behind text":            {"Let me look.\n✿FUNCTION✿: now\n✿ARGS✿: {}", `now {}`, "Let me look."},
	"flowers around the answer":      {"✿RETURN✿: Tea is hot.", "", "Tea is hot."},
	"react":                          {"Action: lookup\nAction Input: {\"word\": \"tea\"}", `lookup {"word": "tea"}`, ""},
	"react with a thought":           {"Thought: I need to look.\nAction: lookup\nAction Input: {\"word\": \"tea\"}\nObservation: hot\nThought: I know.\nFinal Answer: It is hot.", `lookup {"word": "tea"}`, ""},
	"react with a value":             {"Action: lookup\nAction Input: green tea\nObservation: hot", `lookup {"word":"green tea"}`, ""},
	"react behind text":              {"I should look that up.\nAction: lookup\nAction Input: {\"word\": \"tea\"}", `lookup {"word": "tea"}`, "I should look that up."},
	"doubao":                         {"<|FunctionCallBegin|>[{\"name\": \"lookup\", \"parameters\": {\"word\": \"tea\"}}]<|FunctionCallEnd|>", `lookup {"word": "tea"}`, ""},
	"olmo":                           {"<function_calls>\nlookup(word=\"tea\")\n</function_calls>", `lookup {"word":"tea"}`, ""},
	"command r":                      {"Action: ```json\n[\n    {\n        \"tool_name\": \"lookup\",\n        \"parameters\": {\"word\": \"tea\"}\n    }\n]```", `lookup {"word": "tea"}`, ""},
	"command r behind text":          {"I will look.\nAction:\n```json\n[{\"tool_name\": \"now\", \"parameters\": {}}]\n```", "now {}", "I will look."},
	"react of the paper":             {"Action 1: lookup[green tea]\nObservation 1: hot", `lookup {"word":"green tea"}`, ""},
	"react as a program":             {"Action: lookup(\"tea\")", `lookup {"word":"tea"}`, ""},
	"react in bold":                  {"**Action:** lookup\n**Action Input:** {\"word\": \"tea\"}", `lookup {"word": "tea"}`, ""},
	"react with a block of code":     {"Action: lookup\nAction Input:\n```json\n{\"word\": \"tea\"}\n```", `lookup {"word": "tea"}`, ""},
	"react of structured chat":       {"Thought: hm\n\nAction:\n```\n{\"action\": \"lookup\", \"action_input\": {\"word\": \"tea\"}}\n```\nObservation: hot", `lookup {"word": "tea"}`, ""},
	"flowers without spaces":         {"✿FUNCTION✿:lookup\n✿ARGS✿:{\"word\":\"tea\"}", `lookup {"word":"tea"}`, ""},
	"flowers that are cut off":       {"✿FUNCTION✿: lookup\n✿ARGS✿: {\"word\": \"te", `lookup {"word": "te`, ""},
	"an element of Python":           {"<lookup>{'word': 'tea'}</lookup>", `lookup {"word":"tea"}`, ""},
	"tools that are cut off":         {"<tools>{\"name\": \"lookup\", \"arguments\": {\"wo", `lookup {"wo`, ""},
	"bullets before a call":          {"* a\n* b\n* c\n* d\n* e\n* f\n* g\n* h\n* i\n* j\nAll of them.\nAction: now\nAction Input: {}", "now {}", "* a\n* b\n* c\n* d\n* e\n* f\n* g\n* h\n* i\n* j\nAll of them."},
	"react of no tool":               {"Action: search\nAction Input: tea", "", "Action: search\nAction Input: tea"},
	"an action that is none":         {"Some news.\nAction: lookup the word, then write it down.", "", "Some news.\nAction: lookup the word, then write it down."},
	"an element in a sentence":       {"Some news.\n<lookup>tea</lookup> is how it is called.", "", "Some news.\n<lookup>tea</lookup> is how it is called."},
	"other XML":                      {"<tools>\n<tool name=\"saw\"/>\n</tools>", "", "<tools>\n<tool name=\"saw\"/>\n</tools>"},
	"an element":                     {"<invoke name=\"lookup\"><parameter name=\"word\">a < b && c</parameter></invoke>", `lookup {"word":"a < b && c"}`, ""},
	"elements for all":               {"<tool_use><name>lookup</name><arguments>{\"word\":\"tea\"}</arguments></tool_use>", `lookup {"word":"tea"}`, ""},
	"minicpm":                        {"<function name=\"lookup\"><param name=\"word\">tea</param></function>", `lookup {"word":"tea"}`, ""},
	"longcat":                        {"<longcat_tool_call>lookup\n<longcat_arg_key>word</longcat_arg_key>\n<longcat_arg_value>tea</longcat_arg_value>\n</longcat_tool_call>", `lookup {"word":"tea"}`, ""},
	"hunyuan's suffix":               {"<tool_calls:6124><tool_call:6124>lookup<arg_key:6124>word</arg_key:6124><arg_value:6124>tea</arg_value:6124></tool_call:6124></tool_calls:6124>", `lookup {"word":"tea"}`, ""},
	"phi":                            {"functools[{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}]", `lookup {"word": "tea"}`, ""},
	"quotation marks of Python":      {"<tool_call>{'name': 'lookup', 'arguments': {'word': 'tea'}}</tool_call>", `lookup {"word":"tea"}`, ""},
	"a brace is missing":             {"{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}\n", `lookup {"word": "tea"}`, ""},
	"plain, cut off before a line":   {"{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\n", `lookup {"word": "tea`, ""},
	"plain, cut off":                 {"{\"name\": \"lookup\", \"arguments\": {\"wo", `lookup {"wo`, ""},
	"a program of Python":            {"<|python_tag|>import math\nprint(math.pi)", "python_tag import math\nprint(math.pi)", ""},
	"marks without a call":           {"<tool_call>\n</tool_call>", "", ""},
	"a list without calls":           {"<TOOLCALL>[]</TOOLCALL>", "", ""},
	"an object for a program":        {"lookup({\"word\": \"tea\"})", `lookup {"word":"tea"}`, ""},
	"a value for a program":          {"lookup(\"tea\")", `lookup {"word":"tea"}`, ""},
	"glued to text":                  {"I look<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>", "now {}", "I look"},
	"other bars":                     {"<‖DSML‖tool_calls>\n<‖DSML‖invoke name=\"lookup\">\n<‖DSML‖parameter name=\"word\" string=\"true\">tea</‖DSML‖parameter>\n</‖DSML‖invoke>\n</‖DSML‖tool_calls>", `lookup {"word":"tea"}`, ""},
	"gpt-oss without its first mark": {"hm<|end|><|start|>assistant<|channel|>commentary to=functions.lookup<|message|>{\"word\": \"tea\"}<|call|>", `lookup {"word": "tea"}`, ""},

	"bare, of no tool":              {"{\"name\": \"search\", \"arguments\": {\"q\": \"tea\"}}", "", "{\"name\": \"search\", \"arguments\": {\"q\": \"tea\"}}"},
	"fenced, with text":             {"```json\n{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}\n```\nis such a call.", "", "```json\n{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}\n```\nis such a call."},
	"bare behind text":              {"I would call\n{\"name\": \"now\", \"arguments\": {}}", "", "I would call\n{\"name\": \"now\", \"arguments\": {}}"},
	"another object":                {"{\"name\": \"lookup\", \"age\": 3, \"arguments\": {}}", "", "{\"name\": \"lookup\", \"age\": 3, \"arguments\": {}}"},
	"an unknown tool behind text":   {"An example:\n<tool_call>{\"name\": \"search\", \"arguments\": {}}</tool_call>", "", "An example:\n<tool_call>{\"name\": \"search\", \"arguments\": {}}</tool_call>"},
	"a sentence about a call":       {"<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call> is how Qwen calls a tool.", "", "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call> is how Qwen calls a tool."},
	"a sentence about a function":   {"lookup(word) is a function.", "", "lookup(word) is a function."},
	"calls in two forms":            {"{\"action\": \"lookup\", \"action_input\": {\"word\": \"tea\"}}lookup(\"tea\")", "", "{\"action\": \"lookup\", \"action_input\": {\"word\": \"tea\"}}lookup(\"tea\")"},
	"an element and a call":         {"<lookup>{\"word\": \"tea\"}</lookup>\nlookup({\"word\": \"tea\"})", "", "<lookup>{\"word\": \"tea\"}</lookup>\nlookup({\"word\": \"tea\"})"},
	"a sentence with a tool's name": {"now is the time", "", "now is the time"},
}

func written(calls []llm.Call) string {
	var lines []string
	for _, call := range calls {
		lines = append(lines, call.Name+" "+call.Arguments)
	}
	return strings.Join(lines, "\n")
}

func TestCallsWrittenAsTextAreRead(t *testing.T) {
	for name, c := range callTexts {
		f := newFilter()
		shown := f.Next(c.text)
		rest := f.End()
		check.Equal(t, name, written(f.Calls), c.calls)
		check.Equal(t, name+": the text", strings.TrimSpace(rest), c.rest)
		check.That(t, c.calls == "" || !strings.ContainsAny(shown, "<{["), "%s: %q is shown", name, shown)
	}
}

// A thought that was removed before the calls still counts as one when the calls turn out to be behind an empty thought.
func TestThoughtBeforeACallStaysReported(t *testing.T) {
	f := newFilter()
	f.Next("<think>hm</think>assistantcommentary to=functions.lookup json{\"word\":\"tea\"}")
	f.End()
	check.Len(t, "calls", f.Calls, 1)
	check.That(t, f.Reasoned, "the thought is not reported")
}

func TestHeaderInThePromptIsText(t *testing.T) {
	const text = "[#4 2026-11-28 14:05 Ada] Tea.\n[#5 2026-11-28 14:06 Bob] Milk."
	f := newFilter()
	f.Quoted = func(quoted string) bool { return strings.Contains(text, strings.TrimSpace(quoted)) }
	f.Next(text)
	check.Equal(t, "text", f.End(), text)
}

func TestCallInThePromptIsText(t *testing.T) {
	const text = "<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>"
	f := newFilter()
	f.Quoted = func(quoted string) bool { return quoted == text }
	f.Next(text)
	check.Equal(t, "text", f.End(), text)
	check.Len(t, "calls", f.Calls, 0)
}
