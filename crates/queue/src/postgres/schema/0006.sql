-- Attempts that fail through no fault of the job are repeated.
-- `failed_…`: the last attempt after which the job was requeued.
-- `avoid_node`: a node that failed the job and does not get it before `avoid_until`.
ALTER TABLE vmafx.jobs
    ADD COLUMN failed_attempt bigint,
    ADD COLUMN failed_node    text,
    ADD COLUMN failed_reason  integer,
    ADD COLUMN failed_error   text,
    ADD COLUMN avoid_node     text,
    ADD COLUMN avoid_until    bigint;

ALTER TABLE vmafx.job_attempts ADD COLUMN reason integer NOT NULL DEFAULT 0;

-- Jobs that are kept from a node, at most a hundred for each node; and those among them that can be claimed.
CREATE INDEX jobs_avoid ON vmafx.jobs (tenant_id, avoid_node, avoid_until) WHERE avoid_node IS NOT NULL;
CREATE INDEX jobs_kept ON vmafx.jobs (tenant_id, avoid_until) WHERE ready AND avoid_node IS NOT NULL;

-- Failures of a node since its last score, by name: they survive a restart of the node.
CREATE TABLE vmafx.node_faults (
    tenant_id text    NOT NULL CHECK (tenant_id <> ''),
    node_id   text    NOT NULL,
    failures  bigint  NOT NULL CHECK (failures >= 1),
    tried_at  bigint  NOT NULL,
    reason    integer NOT NULL,
    error     text    NOT NULL,
    PRIMARY KEY (tenant_id, node_id)
);
ALTER TABLE vmafx.node_faults ENABLE ROW LEVEL SECURITY;
ALTER TABLE vmafx.node_faults FORCE ROW LEVEL SECURITY;
CREATE POLICY of_the_tenant ON vmafx.node_faults USING (
    tenant_id = (SELECT current_setting('vmafx.tenant_id', true))
    OR (SELECT current_setting('vmafx.maintenance', true)) = 'on');
