package privacy

// Fate is what an erasure does with the text in a column.
type Fate string

// The fates. Each applies to a person's erasure and to the deletion of a message; purging a conversation removes all of its rows.
const (
	WithMessage Fate = "blanked, or removed with its row, when its message is deleted"
	WithSource  Fate = "blanked, removed or replaced with the messages and memories that it was made from"
	ByAuthor    Fate = "blanked, or removed with its row, where the person wrote it"
	Typed       Fate = "blanked where somebody may have typed it into a command, see typed.go"
	ByPlatform  Fate = "kept: the platform's id of a message or place, so that nothing is read from the platform again"
	ByModel     Fate = "kept: a model's own words, unless they are copies"
	ByWish      Fate = "kept: it keeps the person out of memories"
	OnItsWay    Fate = "kept for the minutes that it takes from one process to another"
	WhileShown  Fate = "kept until a platform shows the person no memory that is gone: it says whose"
	ForADay     Fate = "kept until the day is over, while the bot runs: it limits what the person may spend"
	ForAMinute  Fate = "kept for a minute or two, while the bot runs: it limits how often the person is answered"
)

// TextColumns are the columns of the database that may hold what people wrote, their names or their ids, by table. A new column
// belongs here or in OtherColumns.
var TextColumns = map[string]map[string]Fate{
	"conversations": {"name": ByPlatform, "gap": ByPlatform, "label": ByAuthor},
	"inbox": {
		"platform_id": ByPlatform, "author_id": ByAuthor, "author": ByAuthor, "text": WithMessage, "attachments": WithMessage,
		"reply_to": ByPlatform, "quote": WithSource,
	},
	"messages": {
		"platform_id": ByPlatform, "author_id": ByAuthor, "author": ByAuthor, "text": WithMessage, "attachments": WithMessage,
		"reply_to": ByPlatform, "calls": ByModel, "native": WithSource, "quote": WithSource, "context": WithSource,
	},
	"compactions": {"text": WithSource, "focus": Typed, "error": Typed, "lines": ByAuthor, "dropped_lines": WithSource},
	"memories": {
		"content": WithSource, "folded": WithSource, "speaker": WithSource, "about": WithSource,
		"attribute": WithSource, "value": WithSource, "slot": WithSource, "also": WithSource,
	},
	"message_terms":   {"term": WithMessage},
	"memory_terms":    {"term": WithSource},
	"memory_people":   {"author_id": ByAuthor},
	"message_vectors": {"vector": WithMessage},
	"memory_vectors":  {"vector": WithSource},
	"members":         {"term": ByAuthor, "name": ByAuthor, "author_id": ByAuthor},
	"files":           {"platform_id": ByPlatform, "data": WithMessage},
	"gone":            {"platform_id": ByPlatform},
	"pauses":          {"scope": ByPlatform, "made_by": Typed, "made_by_id": Typed},
	"outbox":          {"answers": ByPlatform, "text": ByModel, "platform_id": ByPlatform, "error": Typed},
	"overrides":       {"value": Typed, "made_by": Typed, "made_by_id": Typed},
	"pins":            {"made_by": Typed, "made_by_id": Typed},
	"inherited": {
		"platform_id": ByPlatform, "author": WithMessage, "reply_to": ByPlatform, "quote": WithSource, "text": WithSource,
		"attachments": WithMessage, "lines": ByAuthor,
	},
	"optouts":        {"author_id": ByWish, "name": ByWish},
	"erasures":       {"author_id": ByAuthor},
	"requests":       {"body": OnItsWay, "answer": OnItsWay, "outcome": OnItsWay},
	"taken_turns":    {"author_id": ForAMinute},
	"person_usage":   {"author_id": ForADay},
	"shown_memories": {"author_id": WhileShown},
	"tasks":          {"text": WithSource, "author": WithSource, "above": Typed, "own": Typed},
}

// OtherColumns are all other columns, by table: numbers, ids of rows, and texts that only Cairn or its owner writes.
var OtherColumns = map[string]string{
	"processes": "id name connectors version settings started_at lease_until draining",
	"shards":    "connector number count owner session next_start",
	"events":    "id conversation changed",
	"requests":  "id conversation process kind asked_at taken",
	"conversations": `id parent origin next_seq version cleared_to session_start created_at following gap_again read_back counted
		counted_estimate counted_by counted_with spared_from spared_to audience past_tries unread_from bot_turns vectors_deleted owner epoch archived_at`,
	"inbox": "id conversation said_at received_at addressed optional incomplete edited_at tries steers",
	"messages": `id conversation seq turn role call_id tool said_at saved_at addressed answered attempts tokens edited_at deleted_at reply_seq
		optional changed_with deprived`,
	"compactions": `id conversation trigger level from_seq to_seq from_at to_at messages parent children sources tokens before_tokens
		after_tokens model created_at ended_at applied_at version ended_with cleared_before next_seq owed tries
		tried_with kind made_by state extracted dropped`,
	"memories": `id conversation kind fact importance compaction said_at saved_at confirmed state superseded_by expires_at pinned reach
		forgotten_from made_by since until by_rule in_doubt`,
	"memory_sources":  "memory message fact",
	"message_terms":   "conversation seq tf length",
	"memory_terms":    "conversation memory tf length",
	"memory_people":   "memory role",
	"message_vectors": "message encoder",
	"memory_vectors":  "memory encoder",
	"encoders":        "id model length size projection complete",
	"models":          "name window factor refuses_tools updated_at scale refuses_images wire wants_reasoning refuses_forced",
	"members":         "conversation",
	"files":           "id conversation type",
	"gone":            "conversation",
	"pauses":          "made_at",
	"outbox":          "id conversation reply part parts failure state created_at sent_at refusals",
	"overrides":       "conversation key made_at",
	"pins":            "conversation seq made_at",
	"sessions":        "conversation from_seq to_seq settled",
	"wanted_sessions": "id conversation after wanted_at",
	"inherited":       "conversation place parent from_seq to_seq from_at to_at kind messages role tokens",
	"unscrubbed":      "id",
	"optouts":         "connector made_at",
	"shown_memories":  "connector memory forgotten opted_out",
	"erasures":        "conversation before upto asked_at",
	"quotes":          "kind source message",
	"usage":           "conversation day kind model long requests input cached written output",
	"person_usage":    "day model long input cached written output told",
	"turn_usage":      "id window used counted estimated context factor",
	"taken_turns":     "until n",
	"made_calls":      "conversation until n",
	"tasks":           "id parent root number agent began state created_at ended_at chain",
	"task_sources":    "message task",
}
