package prices

// table are list prices in US dollars per million tokens, as the providers published them in November 2026. Prices change:
// [prices."MODEL"] in the settings corrects them. They are standard rates, without surcharges for long prompts, other speeds
// of service, batches, promotions and storage of caches. Cache writes are those of the shortest lifetime, DeepSeek's rates
// those of peak hours; off-peak is half of them.
var table = map[string]Price{
	// The model that needs no server.
	"offline": {},

	// OpenAI. Writes cost extra from 5.6 on.
	"gpt-6.1-sol":   {2, 0.1, 2.5, 10},
	"gpt-6.1-terra": {1, 0.05, 1.25, 5},
	"gpt-6-astra":   {10, 1, 12.5, 50},
	"gpt-6-sol":     {2, 0.2, 2.5, 10},
	"gpt-6-luna":    {0.1, 0.01, 0.125, 0.5},
	"gpt-5.6":       {5, 0.5, 6.25, 30},
	"gpt-5.6-sol":   {5, 0.5, 6.25, 30},
	"gpt-5.6-terra": {2, 0.2, 2.5, 12},
	"gpt-5.6-luna":  {0.2, 0.02, 0.25, 1.2},
	"gpt-5.5":       {5, 0.5, 5, 30},
	"gpt-5.5-pro":   {30, 30, 30, 180},
	"gpt-5.4":       {2.5, 0.25, 2.5, 15},
	"gpt-5.4-mini":  {0.75, 0.075, 0.75, 4.5},
	"gpt-5.4-nano":  {0.2, 0.02, 0.2, 1.25},
	"gpt-5.4-pro":   {30, 30, 30, 180},
	"gpt-5.2":       {1.75, 0.175, 1.75, 14},
	"gpt-5.1":       {1.25, 0.125, 1.25, 10},
	"gpt-5":         {1.25, 0.125, 1.25, 10},
	"gpt-5-chat":    {1.25, 0.125, 1.25, 10},
	"gpt-5-mini":    {0.25, 0.025, 0.25, 2},
	"gpt-5-nano":    {0.05, 0.005, 0.05, 0.4},
	"gpt-4.1":       {2, 0.5, 2, 8},
	"gpt-4.1-mini":  {0.4, 0.1, 0.4, 1.6},
	"gpt-4.1-nano":  {0.1, 0.025, 0.1, 0.4},
	"gpt-4o":        {2.5, 1.25, 2.5, 10},
	"gpt-4o-mini":   {0.15, 0.075, 0.15, 0.6},
	"o3":            {2, 0.5, 2, 8},
	"o3-mini":       {1.1, 0.55, 1.1, 4.4},
	"o4-mini":       {1.1, 0.275, 1.1, 4.4},

	// Anthropic. OpenRouter writes the versions with dots, see Of.
	"claude-fable-5-1":  {10, 0.25, 12.5, 50},
	"claude-fable-5":    {10, 1, 12.5, 50},
	"claude-opus-5-5":   {4, 0.2, 5, 20},
	"claude-opus-5":     {5, 0.5, 6.25, 25},
	"claude-opus-4-8":   {5, 0.5, 6.25, 25},
	"claude-opus-4-7":   {5, 0.5, 6.25, 25},
	"claude-opus-4-6":   {5, 0.5, 6.25, 25},
	"claude-opus-4-5":   {5, 0.5, 6.25, 25},
	"claude-opus-4-1":   {15, 1.5, 18.75, 75},
	"claude-opus-4":     {15, 1.5, 18.75, 75},
	"claude-sonnet-5-5": {2, 0.1, 2.5, 10},
	"claude-sonnet-5":   {2, 0.2, 2.5, 10},
	"claude-sonnet-4-6": {3, 0.3, 3.75, 15},
	"claude-sonnet-4-5": {3, 0.3, 3.75, 15},
	"claude-sonnet-4":   {3, 0.3, 3.75, 15},
	"claude-haiku-5-5":  {0.1, 0.01, 0.125, 0.5},
	"claude-haiku-4-5":  {1, 0.1, 1.25, 5},
	"claude-3-5-haiku":  {0.8, 0.08, 1, 4},

	// Google. 3.6 to 3.8 Flash at the rates from January 2027 on; half of them before.
	"gemini-3.8-flash":       {1.5, 0.15, 1.5, 7.5},
	"gemini-3.7-flash":       {1.5, 0.15, 1.5, 7.5},
	"gemini-3.6-flash":       {1.5, 0.15, 1.5, 7.5},
	"gemini-3.1-pro-preview": {2, 0.2, 2, 12},
	"gemini-3.1-pro":         {2, 0.2, 2, 12},
	"gemini-3.1-flash-lite":  {0.25, 0.025, 0.25, 1.5},
	"gemini-3-pro-preview":   {2, 0.2, 2, 12},
	"gemini-3-flash-preview": {0.5, 0.05, 0.5, 3},
	"gemini-2.5-pro":         {1.25, 0.125, 1.25, 10},
	"gemini-2.5-flash":       {0.3, 0.03, 0.3, 2.5},
	"gemini-2.5-flash-lite":  {0.1, 0.01, 0.1, 0.4},

	// DeepSeek.
	"deepseek-flash":    {0.3, 0.006, 0.3, 1.2},
	"deepseek-v4-flash": {0.3, 0.006, 0.3, 1.2},
	"deepseek-v4-pro":   {1.32, 0.044, 1.32, 3.96},
}
