-- Two users of PostgreSQL with the least rights: cairn_owner makes and upgrades the tables, cairn_bot runs the bot. Run this once, as an
-- administrator, in the database: psql --dbname=cairn --file=deploy/postgres.sql. docs/machines.md says more.

CREATE ROLE cairn_owner LOGIN;
CREATE ROLE cairn_bot LOGIN;

CREATE SCHEMA cairn AUTHORIZATION cairn_owner;
GRANT USAGE ON SCHEMA cairn TO cairn_bot;

-- For the tables that cairn_owner will make, now and in upgrades.
ALTER DEFAULT PRIVILEGES FOR ROLE cairn_owner IN SCHEMA cairn GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO cairn_bot;
ALTER DEFAULT PRIVILEGES FOR ROLE cairn_owner IN SCHEMA cairn GRANT SELECT ON SEQUENCES TO cairn_bot;
