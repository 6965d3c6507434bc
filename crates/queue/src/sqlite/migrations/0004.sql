-- Attempts that fail through no fault of the job are repeated.
-- `failed_…`: the last attempt after which the job was requeued.
-- `avoid_node`: a node that failed the job and does not get it before `avoid_until`.
ALTER TABLE jobs ADD COLUMN failed_attempt INTEGER;
ALTER TABLE jobs ADD COLUMN failed_node    TEXT;
ALTER TABLE jobs ADD COLUMN failed_reason  INTEGER;
ALTER TABLE jobs ADD COLUMN failed_error   TEXT;
ALTER TABLE jobs ADD COLUMN avoid_node     TEXT;
ALTER TABLE jobs ADD COLUMN avoid_until    INTEGER;

ALTER TABLE attempts ADD COLUMN reason INTEGER NOT NULL DEFAULT 0;

-- A claim passes over jobs that are kept from its node without reading their rows.
DROP INDEX jobs_claim;
CREATE INDEX jobs_claim
    ON jobs (tenant, backend, priority DESC, created_at, id, available_at, avoid_node, avoid_until) WHERE ready = 1;
-- Jobs that are kept from a node; at most a hundred for each node.
CREATE INDEX jobs_avoid ON jobs (tenant, avoid_node, avoid_until, ready, backend) WHERE avoid_node IS NOT NULL;

-- Failures of a node since its last score, by name: they survive a restart of the node.
CREATE TABLE node_faults (
    tenant   TEXT    NOT NULL,
    node     TEXT    NOT NULL,
    failures INTEGER NOT NULL CHECK (failures >= 1),
    tried_at INTEGER NOT NULL,
    reason   INTEGER NOT NULL,
    error    TEXT    NOT NULL,
    PRIMARY KEY (tenant, node)
) STRICT, WITHOUT ROWID;
