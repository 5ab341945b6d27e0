// The forms: marks of models' templates, as data. Where they come from: the chat templates of the models, and the parsers
// of vLLM (vllm/reasoning and vllm/tool_parsers) and SGLang (docs: separate_reasoning), as of November 2026.

package clean

import (
	"strings"

	"cairn/internal/lazy"
)

// kind says what a mark is for.
type kind int

const (
	none         kind = iota
	thoughtOpens      // a thought begins
	thoughtEnds       // it ends
	turnEnds          // the turn ends
	turnBegins        // a turn, or its header, begins
	header            // of a message in a channel (gpt-oss)
	special           // a token whose meaning is not known
	around            // around an answer or a part of it
	callMark          // around a tool call
	block             // a block of Cairn's prompt, or a tool's result
	citation          // around what a document says (Command)
)

// certainty says what is enough to remove a thought.
type certainty int

const (
	known    certainty = iota // the mark that opens it
	paired                    // both marks
	unlisted                  // both marks, and an answer that follows: the name only sounds like a thought
)

// thoughtTags are the names of tags around thoughts: <name>…</name>.
var thoughtTags = set(
	"think thinking",            // DeepSeek R1 to V4, Qwen3, GLM 4.5 on, MiniMax, Kimi K2, Nemotron, Hunyuan, ERNIE, Step, MiMo, OLMo
	"thought thoughts",          // EXAONE Deep, and models that were told so
	"reasoning reflection",      // Reflection, and models that were told so
	"seed:think mm:think",       // Seed-OSS, MiniMax M3
	"antthinking longcat_think", // Claude, LongCat
)

// thoughtTokens are the pairs of tokens around thoughts that are no tags.
var thoughtTokens = map[string]string{
	"<|begin_of_thought|>":  "<|end_of_thought|>",    // Sky-T1, OpenThinker
	"<|start_thinking|>":    "<|end_thinking|>",      // Command A
	"<|inner_prefix|>":      "<|inner_suffix|>",      // Apertus
	"<|channel>":            "<channel|>",            // Gemma 4: ai.google.dev/gemma/docs/core/prompt-formatting-gemma4
	"<|open|>think<|sep|>":  "<|close|>think<|sep|>", // Kimi K3
	"<unused94>":            "<unused95>",            // MedGemma
	"[think]":               "[/think]",              // Magistral, Ministral 3
	"◁think▷":               "◁/think▷",              // Kimi VL, Kimi-Dev
	"<|think|>":             "<|/think|>",
	"<｜begin▁of▁thinking｜>": "<｜end▁of▁thinking｜>",
}

// thoughtEnders are the second marks of those pairs.
var thoughtEnders = func() map[string]bool {
	all := make(map[string]bool)
	for _, end := range thoughtTokens {
		all[end] = true
	}
	return all
}()

// soundsLikeThought matches names of tags that models are told, or choose, to put a thought in.
var soundsLikeThought = lazy.Pattern(`think|thought|reason|reflect|scratch_?pad|monolog|deliberat|ponder|rationale|contemplat|` +
	`musing|introspect|chain_of|brainstorm|(?:^|[_:-])cot(?:$|[_:-])|^analysis$|^inner[_-]`)

// ends are the tokens that end a turn.
var ends = set(
	"<|im_end|> <|im_stop|>",                                                         // ChatML: Qwen, Hermes, MiMo, Kimi
	"<|eot_id|> <|eom_id|> <|end_of_text|> <|eot|> <|eom|>",                          // Llama 3 and 4, Granite
	"<|endoftext|> <|endofprompt|> <|end_of_turn|> <|end_of_message|>",               // GPT-2 and its heirs
	"<|end|> <|return|> <|call|>",                                                    // Phi, gpt-oss
	"<|assistant_end|> <|role_end|> <|message_end|>",                                 // Apertus, Ling
	"<|end_of_turn_token|> <|end_response|>",                                         // Command
	"<｜end▁of▁sentence｜> <|end▁of▁sentence|> <|end_of_sentence|>",                    // DeepSeek, ERNIE
	"</s> <eos> <end_of_turn> <turn|> <pad> <|pad|> [/inst]",                         // Llama 2, Mistral, Gemma
	"[|endofturn|] [eos] [pad] [e~[",                                                 // EXAONE, Kimi, MiniMax
	"<end_of_utterance> <eoa>",                                                       // SmolVLM, InternLM
	"✿result✿: [tool_results] <|tool_response>",                                      // Qwen-Agent, Mistral, Gemma 4: what the tool returns begins
	"<seed:eos> <|hy_eos|> <|eos|> <|close|>response<|sep|> <|close|>message<|sep|>", // Seed-OSS, Hunyuan, Kimi K3
)

// filler matches tokens of a vocabulary that have no use. Broken models fill the end of an answer with them.
var filler = lazy.Pattern(`^<(?:unused|SPECIAL_)\d{1,4}>$`) // Gemma, Nemotron

// begins are the tokens that begin a turn, or belong to its header.
var begins = set(
	"<|im_start|> <|im_sep|> <|im_user|> <|im_assistant|> <|im_system|> <|im_middle|>",                   // ChatML, Kimi
	"<|start_header_id|> <|end_header_id|> <|header_start|> <|header_end|> <|begin_of_text|>",            // Llama 3 and 4
	"<|start_of_role|> <|end_of_role|>",                                                                  // Granite
	"<|user|> <|assistant|> <|system|> <|observation|> <|tool|>",                                         // GLM, Phi, Zephyr
	"<|start_of_turn_token|> <|user_token|> <|chatbot_token|> <|system_token|> <|start_response|>",       // Command
	"<｜user｜> <｜assistant｜> <｜system｜> <｜tool｜> <｜begin▁of▁sentence｜>",                                   // DeepSeek
	"<s> <bos> [bos] <seed:bos> <start_of_turn> <|turn> [inst] <<sys>> <</sys>> <|bos|> <|startoftext|>", // Llama 2, Mistral, Gemma
	"[|assistant|] [|user|] [|system|] ]~b] ]~!b[",                                                       // EXAONE, MiniMax
	"<|assistant_start|> <|user_start|> <|open|>response<|sep|> <|open|>message<|sep|>",                  // Apertus, Kimi K3
)

// roles are the words that name a role in the header of a turn; botRoles are the model's.
const (
	botRoles   = `assistant|model|bot|chatbot|ai`
	otherRoles = `user|human|system|tool|developer|observation|ipython`
)

// wrappers are around an answer, or a part of it.
var wrappers = set(
	"<|begin_of_box|> <|end_of_box|>",           // GLM-V: <|begin_of_box|>42<|end_of_box|>
	"<|begin_of_solution|> <|end_of_solution|>", // Sky-T1, OpenThinker
	"✿return✿:", // Qwen-Agent: the answer behind calls begins
	"<|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|> <|quad_start|> <|quad_end|>", // Qwen-VL: what is where in a picture
)

// answerTags are the names of tags around the answer behind a thought: Hunyuan, ERNIE, GLM-V.
var answerTags = set("answer response output final final_answer")

// headers begin the header of a message in a channel: <|start|>assistant<|channel|>final<|message|>. Of gpt-oss:
// developers.openai.com/cookbook/articles/openai-harmony.
var headers = set("<|start|> <|channel|> <|message|>")

// soundsLikeCall matches the names of marks around tool calls, with _ for all that is no letter or digit: <tool_call>
// (Hermes, Qwen, GLM), <function_calls>, <invoke> (MiniMax, DeepSeek, Claude), <|tool_calls_section_begin|> (Kimi),
// <｜tool▁calls▁begin｜> (DeepSeek), <|python_tag|> (Llama), <TOOLCALL> (Nemotron), <|START_ACTION|> (Command),
// <|tools_prefix|> (Apertus), <|action_start|> (InternLM), [TOOL_CALLS] (Mistral).
var soundsLikeCall = lazy.Pattern(`(?:^|_)(?:tool_?calls?|function_?calls?|tool_?code|tool_?use|invoke|python_(?:tag|start|end)|` +
	`(?:start|end)_action|action_(?:start|end)|tools_(?:prefix|suffix)|tool_sep|dsml)(?:_|$)`)

// callTokens are other marks of calls.
var callTokens = set(
	"[tool_calls] [args] [call_id]",                              // Mistral
	"[tool_request] [end_tool_request] [tool_call] [/tool_call]", // LM Studio
	"<|plugin|>", // InternLM
	"<|functioncallbegin|> <|functioncallend|>", // Doubao
	"✿function✿: ✿args✿:",                       // Qwen-Agent: qwen_agent/llm/fncall_prompts/qwen_fncall_prompt.py
)

// callElement is the name of a call's element if it has an attribute: <function=lookup>, <function name="lookup">. Without
// one it is any XML.
const callElement = "function"

// callWrappers are the names of elements in which Qwen 2.5 Coder puts calls as JSON instead of <tool_call>, whose end is often
// missing or misspelt: github.com/ardanlabs/kronk/issues/944. Any XML may have such elements.
var callWrappers = []string{"tools", "function", "function-call", "functions"}

// blockTags are the names of the blocks of Cairn's prompt, and of tools' results in templates.
var blockTags = set("now kept tool_result tool_results tool_response tool_output function_results function_response")

// summaryMark begins a summary in Cairn's prompt.
const summaryMark = "[Compaction Summary]"

func set(lists ...string) map[string]bool {
	all := make(map[string]bool)
	for _, list := range lists {
		for word := range strings.FieldsSeq(list) {
			all[word] = true
		}
	}
	return all
}
