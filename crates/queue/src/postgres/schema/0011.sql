-- By how many milliseconds the database's clock was set, in sum, since controllers watch it. Every controller compares the
-- clock with its own uptime; what another one has found and moved the jobs by is in this sum.
ALTER TABLE vmafx.meta ADD COLUMN clock_shift bigint NOT NULL DEFAULT 0;
