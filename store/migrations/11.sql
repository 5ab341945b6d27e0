-- What each line of a summary rests on.
ALTER TABLE compactions ADD COLUMN lines TEXT NOT NULL DEFAULT '';
ALTER TABLE compactions ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE compactions ADD COLUMN dropped_lines TEXT NOT NULL DEFAULT '';
ALTER TABLE inherited ADD COLUMN lines TEXT NOT NULL DEFAULT '';
-- Who typed what is stored: several people may have one name.
ALTER TABLE overrides ADD COLUMN made_by_id TEXT NOT NULL DEFAULT '';
ALTER TABLE pins ADD COLUMN made_by_id TEXT NOT NULL DEFAULT '';
ALTER TABLE pauses ADD COLUMN made_by_id TEXT NOT NULL DEFAULT '';
