-- An idempotency key belongs to its submitter and stands for one request. Jobs of earlier versions have neither: their
-- keys are known to every submitter and stand for every request.
ALTER TABLE jobs ADD COLUMN submitter TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN request_digest BLOB CHECK (length(request_digest) = 32);
DROP INDEX jobs_key;
CREATE UNIQUE INDEX jobs_key ON jobs (tenant, key, submitter) WHERE key IS NOT NULL;
