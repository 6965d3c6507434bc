-- The order of claims is that of submission, with a head start of a minute for each step of priority: a job that waits gains on
-- later jobs of a higher priority, and the order of two jobs never changes while they wait. Controllers of earlier versions
-- sort all claimable jobs until they are replaced.
DROP INDEX vmafx.jobs_claim;
CREATE INDEX jobs_claim ON vmafx.jobs (tenant_id, backend, (created_at - priority::bigint * 60000), id) WHERE ready;
