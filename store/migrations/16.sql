-- What no statement reads or writes any more.
ALTER TABLE conversations DROP COLUMN agent;
ALTER TABLE compactions DROP COLUMN policy_hash;
ALTER TABLE compactions DROP COLUMN refused;
ALTER TABLE compactions DROP COLUMN tried_at;
DROP INDEX sessions_unsettled;
