package clean

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/testkit/check"
)

// removed are texts with what belongs to templates, and what remains of them.
var removed = map[string]struct{ text, want string }{
	"a thought":                               {"<think>They greet me.</think>\n\nHello", "Hello"},
	"a thought that is not closed":            {"<think>They greet me and", ""},
	"a thought that is only closed":           {"They greet me.\n</think>\n\nHello", "Hello"},
	"a thought closed behind its text":        {"They greet me.</think>Hello", "Hello"},
	"only closed, nothing follows":            {"They greet me.\n</thinking>", ""},
	"an answer that begins in bold":           {"<think>hm</think>**Hello** there", "**Hello** there"},
	"an answer that begins with a quotation":  {"<think>hm</think>\"Hello\" is a greeting", "\"Hello\" is a greeting"},
	"a thought that begins in italics":        {"<think>*hm* they greet", ""},
	"two thoughts":                            {"<think>a</think>\n<think>b</think>\nHello", "Hello"},
	"a thought behind text":                   {"Sure, let me see.\n\n<think>\nhm\n</think>\n\nIt is five.", "Sure, let me see.\n\nIt is five."},
	"an open thought behind text":             {"Sure, let me see.\n<think>\nhm", "Sure, let me see.\n"},
	"thoughts inside":                         {"<think>a<think>b</think>c</think>Hello", "Hello"},
	"a thought with its mark quoted":          {"<think>What is `</think>`? It ends a thought.</think>\n\nIt is a tag.", "It is a tag."},
	"a thought with its mark mentioned":       {"<think>They ask about the </think> tag. I explain.</think>\nIt is a tag.", "It is a tag."},
	"a thought with its mark in code":         {"<think>Like this:\n```\n</think>\n```\nYes.</think>\nIt is a tag.", "It is a tag."},
	"thought":                                 {"<thought>hm</thought>Hello", "Hello"},
	"reasoning":                               {"<reasoning>\nhm\n</reasoning>\nHello", "Hello"},
	"reflection":                              {"<reflection>hm</reflection>\nHello", "Hello"},
	"seed":                                    {"<seed:think>hm</seed:think>Hello", "Hello"},
	"minimax m3":                              {"<mm:think>hm</mm:think>Hello", "Hello"},
	"hunyuan's suffix":                        {"<think:6124c78e>hm</think:6124c78e>Hello", "Hello"},
	"hunyuan's answer":                        {"<think>\nhm\n</think>\n<answer>\nHello\n</answer>", "\nHello\n"},
	"attributes":                              {"<thinking type=\"deep\">\nhm\n</thinking>\nHello", "Hello"},
	"gpt-oss in capitals":                     {"<|Channel|>Analysis<|Message|>hm<|End|><|Start|>Assistant<|Channel|>Final<|Message|>Hello", "Hello"},
	"gpt-oss with a channel for thinking":     {"<|channel|>thinking<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hello", "Hello"},
	"gpt-oss behind a channel's first mark":   {"analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hello", "Hello"},
	"smolvlm":                                 {"Hello.<end_of_utterance>", "Hello."},
	"capitals":                                {"<THINK>hm</THINK>Hello", "Hello"},
	"brackets":                                {"[THINK]hm[/THINK]Hello", "Hello"},
	"brackets in small letters":               {"[thinking] hm [/thinking] Hello", "Hello"},
	"kimi's triangles":                        {"◁think▷hm◁/think▷Hello", "Hello"},
	"begin_of_thought":                        {"<|begin_of_thought|>\n\nhm\n\n<|end_of_thought|>\n\n<|begin_of_solution|>\n\nHello\n\n<|end_of_solution|>", "Hello"},
	"command":                                 {"<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>Hello<|END_RESPONSE|>", "Hello"},
	"apertus":                                 {"<|inner_prefix|>hm<|inner_suffix|>Hello<|assistant_end|>", "Hello"},
	"gemma 4":                                 {"<|channel>thought\nhm\n<channel|>Hello<turn|>", "Hello"},
	"kimi k3":                                 {"<|open|>think<|sep|>hm<|close|>think<|sep|><|open|>response<|sep|>Hello<|close|>response<|sep|>", "Hello"},
	"granite":                                 {"Here is my thought process:\nhm\n\nHere is my response:\nHello", "Hello"},
	"gpt-oss":                                 {"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>", "Hello"},
	"gpt-oss without its first mark":          {"hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>", "Hello"},
	"gpt-oss without special tokens":          {"analysisThe user greets.assistantfinalHello", "Hello"},
	"gpt-oss with the role first":             {"<|start|>assistant<|channel|>final<|message|>Hello", "Hello"},
	"gpt-oss that comments":                   {"<|channel|>commentary<|message|>One moment.<|end|><|start|>assistant<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hello", "One moment.\n\nHello"},
	"gpt-oss with the next turn":              {"<|channel|>final<|message|>Hello.<|end|><|start|>user<|message|>Thanks<|end|>", "Hello."},
	"muse":                                    {"to=self<|message|>hm<|eom|><|start|>assistant to=user<|message|>Hello<|eot|>", "Hello"},
	"a name that sounds like a thought":       {"<inner_monologue>\nhm\n</inner_monologue>\n\nHello", "Hello"},
	"tokens that sound like a thought":        {"<|begin_of_reflection|>hm<|end_of_reflection|>Hello", "Hello"},
	"ChatML":                                  {"Hello.<|im_end|>", "Hello."},
	"ChatML with the next turn":               {"Hello.<|im_end|>\n<|im_start|>user\nThanks!<|im_end|>", "Hello."},
	"an end in its own line":                  {"Hello.\n<|im_end|>", "Hello."},
	"an end behind a space":                   {"Hello. <|im_end|>", "Hello."},
	"an end without a sentence":               {"Hello<|eot_id|>", "Hello"},
	"an end and what follows":                 {"Hello.<|eot_id|>And then they said", "Hello."},
	"an end and more":                         {"The answer is 42<|endoftext|>Human: what", "The answer is 42"},
	"a llama's header":                        {"<|start_header_id|>assistant<|end_header_id|>\n\nHello<|eot_id|><|start_header_id|>user<|end_header_id|>", "Hello"},
	"a header of ChatML":                      {"<|im_start|>assistant\nHello", "Hello"},
	"a header of gemma":                       {"<start_of_turn>model\nHello<end_of_turn>", "Hello"},
	"glm":                                     {"<|assistant|>\nHello<|user|>", "Hello"},
	"deepseek":                                {"Hello<｜end▁of▁sentence｜>", "Hello"},
	"deepseek's next turn":                    {"Hello!<｜end▁of▁sentence｜><｜User｜>hi", "Hello!"},
	"mistral":                                 {"Hello</s>", "Hello"},
	"llama 2":                                 {"<s>\nHello", "Hello"},
	"an end behind a semicolon":               {"x = 5;<|im_end|>", "x = 5;"},
	"an end that is cut off":                  {"Hello.<|im_", "Hello."},
	"an end of a call that is left":           {"Hello.\n</tool_call>", "Hello."},
	"two blocks of Cairn at the end":          {"Hello.\n\n<kept>\nx\n</kept>\n\n<now>\ny\n</now>", "Hello."},
	"the talk written on":                     {"[#4 2026-11-28 14:05 Cairn] Hello\n[#5 2026-11-28 14:06 Ada] Thanks", "Hello"},
	"a header with only a time":               {"[#4 14:05 Cairn]: Hello", "Hello"},
	"a role without its tokens":               {"assistant\n\nHello", "Hello"},
	"a later thought of several":              {"<think>a</think>\nHello\n<think>b</think>\nthere", "Hello\nthere"},
	"exaone":                                  {"[|assistant|]Hello[|endofturn|]", "Hello"},
	"minimax":                                 {"Hello[e~[", "Hello"},
	"padding":                                 {"Hello!<pad><pad><pad>", "Hello!"},
	"an unknown token at the end":             {"Hello.<|finis|>", "Hello."},
	"an unknown token at the start":           {"<|speak|>Hello.", "Hello."},
	"an unknown token before a turn":          {"Hello.<|fin|>\n<|next|>user\nhi", "Hello."},
	"an end behind code":                      {"Do this:\n```go\nx()\n```<|im_end|>", "Do this:\n```go\nx()\n```"},
	"an end behind emphasis":                  {"It is **five**<|im_end|>", "It is **five**"},
	"an end behind an emoji":                  {"Hello 🍵<|im_end|>", "Hello 🍵"},
	"an end behind Chinese":                   {"你好<|im_end|>", "你好"},
	"a box":                                   {"It is <|begin_of_box|>42<|end_of_box|>.", "It is 42."},
	"a header of Cairn":                       {"[#4 2026-11-28 14:05 Cairn] Hello", "Hello"},
	"a header with an answer":                 {"[#4 2026-11-28 14:05 Cairn, replying to #3] Hello", "Hello"},
	"a block of Cairn at the end":             {"Hello.\n\n<now>\ntime: 14:05\n</now>", "Hello."},
	"an open block of Cairn":                  {"Hello.\n<kept>\nKept from", "Hello."},
	"a block of Cairn at the start":           {"<now>\ntime: 14:05\n</now>\n\nHello.", "Hello."},
	"a block of Cairn in one line":            {"Hello.\n<now>14:05</now>", "Hello."},
	"a summary's first line":                  {"[Compaction Summary] messages #1 to #9, 3 to 4 May 2026\n## Goals\n- tea", "## Goals\n- tea"},
	"a result that is made up":                {"Hello.\n<tool_response>\n{\"a\":1}\n</tool_response>", "Hello."},
	"a role in a line of its own":             {"Hello.\n<|user|>\nThanks!\n<|assistant|>\nBye.", "Hello."},
	"a role that begins a line":               {"Hello.\n<|user|>Thanks!", "Hello."},
	"a role and its words behind a space":     {"Hello.\n\n<|user|> Thanks!", "Hello."},
	"a role behind no sentence":               {"The answer is 42\n<|user|>\nThanks!", "The answer is 42"},
	"a role behind a sentence in its line":    {"Hello. <|user|>\nThanks!", "Hello."},
	"a role between spaces behind a sentence": {"Hello. <|user|> Thanks!", "Hello."},
	"a turn that is begun":                    {"Hello.\n<|im_start|>user\nThanks!", "Hello."},
	"a turn of gemma":                         {"Hello.\n<start_of_turn>user\nThanks!", "Hello."},
	"a turn of llama":                         {"Hello.\n<|start_header_id|>user<|end_header_id|>\n\nThanks!", "Hello."},
	"a turn of mistral":                       {"Hello.\n[INST] Thanks! [/INST]", "Hello."},
	"a turn of deepseek":                      {"你好。\n<｜User｜>谢谢", "你好。"},
	"a turn of exaone":                        {"Hello.\n[|user|]Thanks!", "Hello."},
	"an end in its own line, and more":        {"Hello.\n<|im_end|>\nAnd then they said", "Hello."},
	"an unknown token in its own line":        {"Hello.\n<|next|>\nThanks!", "Hello."},
	"an unknown token that begins a line":     {"Hello.\n\n<|fim_middle|>Thanks!", "Hello."},
	"an unknown token, and only an end":       {"Hello!\n<|reserved_12|>", "Hello!"},
	"a thought in bold":                       {"**Thinking:** They greet me.\nI greet back.\n\n**Answer:** Hello", "Hello"},
	"a thought under a heading":               {"### Reasoning\nThey greet.\n\n### Answer\nHello", "Hello"},
	"a thought under a heading, in bold":      {"## **Thought Process**\n1. They greet.\n\n**Final Answer:**\n\nHello", "Hello"},
	"a thought in italics":                    {"*Internal monologue:* hm\n\n*Response:* Hello", "Hello"},
	"a thought in German":                     {"**Gedankengang:** Sie grüßen.\n\n**Antwort:** Hallo", "Hallo"},
	"a thought in Chinese":                    {"**思考过程：**\n他们问好。\n\n**回答：** 你好", "你好"},
	"a thought in Russian":                    {"### Рассуждение\nОни здороваются.\n### Ответ\nПривет", "Привет"},
	"marks in italics":                        {"_<think>_ They greet. _</think>_\n\nHello", "Hello"},
	"marks in bold":                           {"**<think>**\nThey greet.\n**</think>**\n\nHello", "Hello"},
	"a thought of Ollama's command":           {"Thinking...\nThey greet.\n...done thinking.\n\nHello", "Hello"},
	"a thought of Open WebUI":                 {"<details type=\"reasoning\" done=\"true\">\n<summary>Thought for 3 seconds</summary>\n> They greet.\n</details>\nHello", "Hello"},
	"a thought in bold in one line":           {"**Reasoning:** They greet. **Answer:** Hello", "Hello"},
	"a thought behind a symbol":               {"🤔 **Thinking:** hm\n\n💬 **Answer:** Hello", "Hello"},
	"a thought of an agent of LangChain":      {"Thought: Do I need to use a tool? No\nAI: Hello", "Hello"},
	"a thought behind a label":                {"Thinking:\nThey greet.\n\nAnswer:\nHello", "Hello"},
	"marks in italics that never end":         {"_<think>_\nThe user greets me. I should greet back", ""},
	"marks in bold that never end":            {"**<think>** Okay, they greet me.\n\nLet me greet back", ""},
	"a turn of vicuna":                        {"Hello.\n### Human: Thanks!\n### Assistant: Bye.", "Hello."},
	"a turn of alpaca":                        {"Hello.\n\n### Instruction:\nSay it again.\n\n### Response:\nHello.", "Hello."},
	"a thought as code":                       {"```thinking\nThey greet.\n```\n\nHello", "Hello"},
	"a thought of ReAct":                      {"Thought: They greet me.\nFinal Answer: Hello", "Hello"},
	"a header, a thought and an end":          {"<|im_start|>assistant\n<think>\nhm\n</think>\n\n[#4 2026-11-28 14:05 Cairn] Hello<|im_end|>\n", "Hello"},
}

// kept are texts about marks, code, and what only looks like marks.
var kept = []string{
	"final<|message|> is what comes before the answer.",
	"<thinking budget=\"100\"/> sets the budget.",
	"<thinking type=\"deep\"> is how it begins.",
	"", " ", "Hello", " Hello \n", "a < b and c > d", "<b>bold</b>", "[1] a note", "[link](https://x.y)", "x[0] = y[1]", "`<think>`",
	"Write <think>this</think> first.",
	"<this> is no tag", "<think",
	"Close it with `</think>`\nand answer.",
	"```\nthought\n</think>\nanswer\n```",
	"It is <think>\nthought\n</think>\nthen the answer.",
	"<think> is the tag with which models begin to reason.",
	"<think> and </think> are around the reasoning of Qwen.",
	"Qwen ends a turn with <|im_end|> and Llama with <|eot_id|>.",
	"Qwen ends a turn with <|im_end|>",
	"The token is `<|im_end|>`.",
	"The tokens are:\n<|im_start|>\n<|im_end|>\n<|endoftext|>",
	"ChatML looks like this:\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>",
	"<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>",
	"In HTML <s>old</s> is struck through.",
	"<doc>\n<reasoning type=\"a\">text</reasoning>\n</doc>", "Match it with (?<think>\\w+) and more.",
	"<plugin>\n<groupId>org.x</groupId>\n</plugin>", "<function>\n<name>f</name>\n</function>", "<functions>\n<f/>\n</functions>",
	"The price is <s>90</s> 80.", "Old<s>er</s> news.", "[Think](https://x.y) about it.", "[EOS](https://x.y)", "It reads ids[EOS] and arr[pad]",
	"[think] maybe tea?", "It is vocab[PAD]",
	"标记是<|im_end|>。", "トークン<|im_end|>はターンの終わりです。", "終わりは</s>です。",
	"<|channel|>analysis<|message|> begins a thought of gpt-oss.",
	"<|start|>user<|message|>Hi<|end|>\n<|start|>assistant<|channel|>final<|message|>Hello<|return|>",
	"<invoke name=\"x\"> is how an old form began.",
	"<s>Old plan</s> New plan: five.",
	"<think>reasoning</think> comes before the answer.",
	"Template: {{ bos_token }}<|start_header_id|>user<|end_header_id|>\n{{ content }}<|eot_id|>",
	"<s>[INST] Hi [/INST] Hello</s>",
	"Use `[INST]` and `[/INST]`, then </s>.",
	"<|im_start|> begins a turn in ChatML.",
	"F# has <| and |>, Haskell has <|>.",
	"The mean is <|x|> here, and <psi|phi> is a bracket.",
	"Models write their reasoning like this:\n<think>\nsome reasoning\n</think>\nand then the answer.",
	"The tag </think> ends it.\nThen comes the answer.",
	"Everything before </think>\nis dropped.",
	"```\nHello.<|im_end|>\n<|im_start|>user\n```",
	"~~~\n<think>\n~~~\nis how it begins.",
	"    <|im_start|>user\n    Hi.<|im_end|>\n",
	"The prompt has <now>…</now> and <kept>…</kept> blocks.",
	"[#4] is the message you mean.",
	"[#12 2026-11-28 14:05 is not closed",
	"Ada said this in [#4 2026-11-28 14:05 Ada], I think.",
	"Here is my thought process: first the tea, then the milk.",
	"analysis of the data shows growth",
	"**Thinking:** the book by Kahneman is on the second shelf.", "### Reasoning\nSeven is prime, as nothing divides it.", "**Thinking** is hard.", "_<think>_ is in italics.",
	"**<think>**\nbegins a thought, and so on.", "Thinking...\nThat is what the screen shows.", "```thinking\nhm", "Thought: be kind.\nAnswer: yes.",
	"Thought: I need the weather.\nAction: weather\nAction Input: Oslo\nObservation: 5 degrees\nFinal Answer: 5 degrees", "**Answer:** Hello",
	"# Thoughts\n\nMy thoughts on tea.\n\n# Milk\n\nNo.", "*Thinking* of tea, she said:\n**Answer** me!", "<details>\n<summary>Thinking</summary>\nText\n</details>",
	"Hermes uses <tool_call> and </tool_call>.",
	"The mark <co: 0> begins a citation of Command R, and </co: 0> ends it.", "Command R wraps it in `<co: 0>` and `</co: 0>`, as in <co: 0>Paris</co: 0>.",
	"The tokens of a citation are <co: 0>Paris</co: 0>.", "```\nIt is <co: 0>Paris</co: 0>.\n```", "<co>Acme</co> is our company.", "<company>\n<co>Acme</co>\n</company>",
	"<co> is no HTML.", "It is <co:name>Acme</co:name>.", "Use <code>x</code>, </code> and <col>.", "a <co", "<co", "<co: 1", "</co: 1",
	"**<think>**\nDieses Element beginnt die Überlegung.", "_<think>_\nOpens the reasoning, which the user does not see: the template adds it.",
	"<tool_call> is the tag of Hermes.",
	"[TOOL_CALLS] is Mistral's.",
	"{\"name\": \"Ada\", \"age\": 36}",
	"```json\n{\"name\": \"search\", \"arguments\": {}}\n```",
	"| token | model |\n|---|---|\n| <|im_end|> | Qwen |\n| </s> | Llama 2 |",
	"It's `a` and ``b ` c`` <div>x</div>",
	"<details>\n<summary>More</summary>\nText\n</details>",
	"1. <|user|> for people\n2. <|assistant|> for the model",
	"vector<int> v; List<String> x; a<b, c>d",
	"I think <3 you, <-- that, ->this",
}

func TestTemplatesAreRemoved(t *testing.T) {
	for name, c := range removed {
		cleaned := strings.TrimSpace(Text(c.text))
		check.Equal(t, name, cleaned, strings.TrimSpace(c.want))
		check.Equal(t, name+", once more", Text(cleaned), cleaned)
	}
}

func TestTextAboutMarksIsKept(t *testing.T) {
	for _, text := range kept {
		check.Equal(t, "text", Text(text), text)
		offered := newFilter()
		whole := ""
		offered.Next(text)
		whole = offered.End()
		check.Equal(t, "text where tools are offered", fmt.Sprint(whole, len(offered.Calls)), text+"0")
		const before, behind = "It depends, of course.\n\n", "\n\nThat is all."
		if !strings.HasPrefix(text, "    ") && !strings.HasPrefix(text, "<|im_start|>user") {
			check.Equal(t, "text behind text", Text(before+text), before+text)
			check.Equal(t, "text before text", Text(text+behind), text+behind)
		}
	}
}

// What a text is about changes nothing about what is around it.
func TestTextAboutMarksIsCleanedAroundIt(t *testing.T) {
	before := []string{
		"<think>\nThey ask.\n</think>\n\n", "<|im_start|>assistant\n", "[#4 2026-11-28 14:05 Cairn] ", "They ask.\n</think>\n\n",
		"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>",
	}
	behind := []string{"<|im_end|>", "<|im_end|>\n<|im_start|>user\nThanks<|im_end|>\n", "<|endoftext|>Human: hi", "\n\n<now>\ntime: 14:05\n</now>"}
	for _, text := range kept {
		if text != strings.TrimSpace(text) || text == "" {
			continue
		}
		for _, thought := range before {
			check.Equal(t, fmt.Sprintf("%q behind %q", text, thought), Text(thought+text), text)
		}
		isExample := strings.Contains(text, "<|im_start|>user") || strings.Contains(text, "[INST]") || strings.Contains(text, "<|start|>") || strings.Contains(text, "<now>")
		for _, end := range behind {
			if strings.HasSuffix(text, ".") && !isExample {
				check.Equal(t, fmt.Sprintf("%q before %q", text, end), Text(text+end), text)
			}
		}
	}
}

// tools are offered in tests.
var tools = []llm.Tool{
	{Name: "lookup", Parameters: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"},"limit":{"type":"integer"},"all":{"type":"boolean"},"tags":{"type":"array"}},"required":["word"]}`)},
	{Name: "now", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
}

func newFilter() *Filter { return &Filter{Tools: tools} }

// Texts about tags, tokens, templates and code, written by somebody who had not seen this package.
func TestInnocentTextsStayByteForByte(t *testing.T) {
	raw := strings.TrimSuffix(string(check.Must(os.ReadFile("testdata/innocent.txt"))(t)), "\n")
	texts := strings.Split(raw, "\n=====\n")
	check.That(t, len(texts) >= 200, "got %d texts", len(texts))
	for _, text := range texts {
		check.Equal(t, "text", Text(text), text)
		f := newFilter()
		f.Name = "cairn"
		f.Next(text)
		check.Equal(t, "text where tools are offered", f.End(), text)
		check.Len(t, "calls", f.Calls, 0)
	}
}

// People who have written a token get examples of it; that it ends an answer stays.
func TestTokenInThePromptMayBeginALine(t *testing.T) {
	quoted := func(text string) bool { return strings.Contains("What are <|user|> and <|im_end|>?", text) }
	for text, want := range map[string]string{
		"Phi writes so.\n<|user|>\nHi":                         "Phi writes so.\n<|user|>\nHi",
		"Phi writes so.\n<|im_end|>\n<|im_start|>user\nThanks": "Phi writes so.",
		"Phi writes so.\n<|im_end|>":                           "Phi writes so.",
		"Phi writes so.\n<|assistant|>\nHi":                    "Phi writes so.",
	} {
		f := newFilter()
		f.Quoted = quoted
		f.Next(text)
		check.Equal(t, text, f.End(), want)
	}
}
