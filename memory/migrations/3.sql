-- What was learnt about models: name is the model's and its server's, "gpt-4o@api.openai.com/v1".

ALTER TABLE models ADD COLUMN scale          INTEGER NOT NULL DEFAULT 100; -- the factor in percent, in coarse steps
ALTER TABLE models ADD COLUMN refuses_images INTEGER NOT NULL DEFAULT 0;
