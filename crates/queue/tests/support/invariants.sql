-- What holds for every row after every statement. A database in use has only the checks of the schema.
ALTER TABLE vmafx.jobs
    ADD CONSTRAINT status_is_known CHECK (status IN ('pending', 'running', 'completed', 'failed', 'cancelled')),
    ADD CONSTRAINT tenant_is_named CHECK (tenant_id <> ''),
    ADD CONSTRAINT leased_while_running CHECK ((status = 'running') = (lease_expires_at IS NOT NULL)),
    ADD CONSTRAINT finished_when_over
        CHECK ((status IN ('completed', 'failed', 'cancelled')) = (finished_at IS NOT NULL)),
    ADD CONSTRAINT ready_while_pending CHECK (NOT ready OR status = 'pending'),
    ADD CONSTRAINT pauses_while_pending CHECK (available_at IS NULL OR status = 'pending'),
    ADD CONSTRAINT waits_for_something CHECK (status <> 'pending' OR ready OR available_at IS NOT NULL),
    ADD CONSTRAINT lost_attempts_are_attempts CHECK (lost_attempts BETWEEN 0 AND attempt),
    ADD CONSTRAINT may_lose_one_attempt CHECK (max_lost_attempts >= 1),
    ADD CONSTRAINT key_is_named CHECK (idempotency_key <> ''),
    ADD CONSTRAINT digest_is_whole CHECK (octet_length(request_digest) = 32),
    ADD CONSTRAINT bytes_are_counted CHECK (bytes >= 0);
ALTER TABLE vmafx.job_attempts
    ADD CONSTRAINT tenant_is_named CHECK (tenant_id <> ''),
    ADD CONSTRAINT outcome_is_known CHECK (outcome IN ('completed', 'failed', 'released', 'expired', 'cancelled')),
    ADD CONSTRAINT ended_somehow CHECK ((ended_at IS NULL) = (outcome IS NULL));
ALTER TABLE vmafx.tenant_usage ADD CONSTRAINT tenant_is_named CHECK (tenant_id <> '');
