-- The request of the next attempt, if the job was changed while it ran. It becomes `spec` when the
-- job waits again, at the latest with its next claim.
ALTER TABLE vmafx.jobs ADD COLUMN next_spec json;
