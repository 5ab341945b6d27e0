-- Which messages of other bots are answered is bounded, also over a restart.
ALTER TABLE conversations ADD COLUMN bot_turns INTEGER NOT NULL DEFAULT 0;
