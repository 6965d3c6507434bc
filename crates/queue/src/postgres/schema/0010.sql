-- An idempotency key belongs to its submitter and stands for one request. Jobs of earlier versions have neither: their
-- keys are known to every submitter and stand for every request.
ALTER TABLE vmafx.jobs ADD COLUMN submitter text NOT NULL DEFAULT '';
ALTER TABLE vmafx.jobs ADD COLUMN request_digest bytea CHECK (octet_length(request_digest) = 32);
DROP INDEX vmafx.jobs_key;
CREATE UNIQUE INDEX jobs_key ON vmafx.jobs (idempotency_key, tenant_id, submitter) WHERE idempotency_key IS NOT NULL;
