-- What a job occupies, as counted against the limit of its tenant. Jobs of earlier versions count 0 until they change.
ALTER TABLE vmafx.jobs ADD COLUMN bytes bigint NOT NULL DEFAULT 0;

-- What each tenant has stored: the sum of its rows. A transaction adds to the row of its server process, so that
-- transactions do not wait for each other.
CREATE TABLE vmafx.tenant_usage (
    tenant_id text   NOT NULL CHECK (tenant_id <> ''),
    shard     int    NOT NULL,
    pending   bigint NOT NULL,
    running   bigint NOT NULL,
    bytes     bigint NOT NULL,
    PRIMARY KEY (tenant_id, shard)
) WITH (fillfactor = 50);
ALTER TABLE vmafx.tenant_usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE vmafx.tenant_usage FORCE ROW LEVEL SECURITY;
CREATE POLICY of_the_tenant ON vmafx.tenant_usage USING (
    tenant_id = (SELECT current_setting('vmafx.tenant_id', true))
    OR (SELECT current_setting('vmafx.maintenance', true)) = 'on');
