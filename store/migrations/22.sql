-- Additive: messages for the answer that is being written. Processes of before answer them afterwards.

ALTER TABLE inbox ADD COLUMN steers INTEGER NOT NULL DEFAULT 0;
