-- What each line of a summary rests on.
ALTER TABLE compactions ADD COLUMN lines TEXT NOT NULL DEFAULT '';
ALTER TABLE compactions ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE compactions ADD COLUMN dropped_lines TEXT NOT NULL DEFAULT '';
ALTER TABLE inherited ADD COLUMN lines TEXT NOT NULL DEFAULT '';
