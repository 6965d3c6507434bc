-- The order of claims is that of submission, with a head start of a minute for each step of priority: a job that waits gains on
-- later jobs of a higher priority, and the order of two jobs never changes while they wait.
ALTER TABLE jobs ADD COLUMN claim_rank INTEGER GENERATED ALWAYS AS (created_at - priority * 60000) VIRTUAL;
DROP INDEX jobs_claim;
CREATE INDEX jobs_claim
    ON jobs (tenant, backend, claim_rank, id, priority, available_at, avoid_node, avoid_until) WHERE ready = 1;
