-- The store: its id and the last numbers of its two sequences. A sequence never goes back when rows are removed.
CREATE TABLE store (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    id         TEXT    NOT NULL,
    job_seq    INTEGER NOT NULL,
    sample_seq INTEGER NOT NULL
) STRICT;

INSERT INTO store (one, id, job_seq, sample_seq) VALUES (1, lower(hex(randomblob(8))), 0, 0);

-- Sessions of nodes. Their expiry is kept in memory, because a restart renews all of them.
CREATE TABLE sessions (
    id            BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    tenant        TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    token_sha256  BLOB    NOT NULL CHECK (length(token_sha256) = 32),
    capability    TEXT    NOT NULL,
    resource      TEXT,
    registered_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- `ready`: whether the job can be claimed. A pending job that is not ready is in back-off until `available_at`.
-- `lease_expires_at`: as set by the claim; heartbeats extend only the expiry in memory.
-- `label`, `score`: as text, because a REAL column stores -0.0 as 0.
-- `seq`: the number of the last change, in the order of all changes of the store.
-- CHECK constraints compare one value at a time, because `IN` with a list makes a temporary table for every written row.
CREATE TABLE jobs (
    number            INTEGER PRIMARY KEY,
    id                BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    tenant            TEXT    NOT NULL CHECK (tenant <> ''),
    state             TEXT    NOT NULL
        CHECK (state = 'pending' OR state = 'running'
            OR state = 'completed' OR state = 'failed' OR state = 'cancelled'),
    ready             INTEGER NOT NULL CHECK (ready IN (0, 1)),
    backend           TEXT    NOT NULL,
    priority          INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    seq               INTEGER NOT NULL,
    revision          INTEGER NOT NULL,
    attempt           INTEGER NOT NULL CHECK (attempt >= 0),
    lost_attempts     INTEGER NOT NULL CHECK (lost_attempts BETWEEN 0 AND attempt),
    max_lost_attempts INTEGER NOT NULL CHECK (max_lost_attempts >= 1),
    updated_at        INTEGER NOT NULL,
    started_at        INTEGER,
    finished_at       INTEGER,
    available_at      INTEGER,
    deadline_at       INTEGER,
    lease_session     BLOB,
    lease_expires_at  INTEGER,
    failure_reason    INTEGER NOT NULL,
    label             TEXT,
    score             TEXT,
    node              TEXT,
    error             TEXT    NOT NULL,
    key               TEXT    CHECK (key <> ''),
    origin_cluster    TEXT,
    origin_namespace  TEXT,
    origin_name       TEXT,
    origin_uid        TEXT,
    spec              TEXT    NOT NULL,
    features          TEXT,
    details           TEXT,
    CHECK ((state = 'running') = (lease_expires_at IS NOT NULL)),
    CHECK ((state = 'running') = (lease_session IS NOT NULL)),
    CHECK ((state = 'completed' OR state = 'failed' OR state = 'cancelled') = (finished_at IS NOT NULL)),
    CHECK ((state = 'completed') = (score IS NOT NULL)),
    CHECK ((state = 'completed') = (features IS NOT NULL)),
    CHECK (ready = 0 OR state = 'pending'),
    CHECK (available_at IS NULL OR state = 'pending'),
    CHECK (state <> 'pending' OR ready = 1 OR available_at IS NOT NULL)
) STRICT;

-- Read by claims: only claimable jobs, in claim order within each backend.
CREATE INDEX jobs_claim ON jobs (tenant, backend, priority DESC, created_at, id, available_at) WHERE ready = 1;
CREATE INDEX jobs_pause ON jobs (tenant, available_at, backend) WHERE state = 'pending' AND ready = 0;
CREATE INDEX jobs_list ON jobs (tenant, state, created_at, id);
CREATE INDEX jobs_change ON jobs (tenant, seq);
CREATE INDEX jobs_deadline ON jobs (deadline_at) WHERE deadline_at IS NOT NULL AND finished_at IS NULL;
CREATE INDEX jobs_finished ON jobs (tenant, finished_at, id) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_origin ON jobs (tenant, origin_uid) WHERE origin_uid IS NOT NULL;
CREATE UNIQUE INDEX jobs_key ON jobs (tenant, key) WHERE key IS NOT NULL;

-- Every attempt, with the labels that its node had at the time.
CREATE TABLE attempts (
    job         INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    attempt     INTEGER NOT NULL,
    session     BLOB    NOT NULL CHECK (length(session) = 16),
    node        TEXT    NOT NULL,
    node_labels TEXT    NOT NULL,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    outcome     TEXT
        CHECK (outcome = 'completed' OR outcome = 'failed'
            OR outcome = 'released' OR outcome = 'expired' OR outcome = 'cancelled'),
    error       TEXT    NOT NULL,
    PRIMARY KEY (job, attempt),
    CHECK ((ended_at IS NULL) = (outcome IS NULL))
) STRICT, WITHOUT ROWID;

-- Completed jobs with a label. Samples outlive their jobs.
CREATE TABLE samples (
    seq         INTEGER PRIMARY KEY,
    tenant      TEXT    NOT NULL,
    job         BLOB    NOT NULL CHECK (length(job) = 16),
    features    TEXT    NOT NULL,
    label       TEXT    NOT NULL,
    node_labels TEXT    NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX samples_tenant ON samples (tenant, seq, created_at);

-- The newest removed sample of each tenant: a reader whose cursor lies before it has missed samples.
CREATE TABLE samples_pruned (
    tenant TEXT    NOT NULL PRIMARY KEY,
    up_to  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
