// Package store is the database of a bot: one SQLite file, or a schema of PostgreSQL, with transcripts, inbox, outbox, compactions,
// tasks and the rows of memories, and its maintenance. A Conversation cannot reach any other one. The store makes no decisions: package transcript decides what happens
// to summaries, and packages memory and privacy decide what is saved and deleted.
//
// The methods of some nouns open a transaction each. A method with a Tx as its first argument is a step of one that is open:
//
//	Compactions           what the compactor reads and writes of summaries    compactor, by memory.Records
//	Sessions              requests for new sessions                           channel
//	Transcript            messages in their places; pins, files, edits        channel, web, privacy
//	Inbox                 messages that wait for a turn                       channel, privacy
//	Past                  messages that were missed                           channel
//	Turns                 what waits for an answer, and answers               channel, memory
//	Outbox                pieces of replies to send                           channel
//	Settings              what people have set                                channel
//	Tasks                 tasks of sub-agents                                 channel, web, privacy
//	Upkeep                backups, checks, erasure from the files             channel, cmd
//	Deliveries            those that come while the file is rewritten         channel
//	Pauses                where the bot is silent                             channel, web
//	Models                what was learned about models                       cmd
//
// The others are parts of a transaction, in which packages memory and privacy write, without SQL of their own:
//
//	Messages              stored messages: terms, files, quotes, tombstones   memory, privacy
//	Summaries             summaries in any state                              memory, privacy
//	Threads               what threads inherited from their channel           privacy
//	Memories              single memories, by number                          memory
//	ConversationMemories  those of one conversation                           memory, privacy
//	ScopedMemories        those that a question may find, and their index     memory
//	People                who speaks in a conversation; opt-outs              memory, privacy
//	Traces                what one person left in a conversation              privacy
//	CommandTexts          what people typed into commands                     privacy
//	Directory             which people and conversations there are            privacy
package store
