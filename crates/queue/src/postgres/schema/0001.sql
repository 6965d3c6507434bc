-- Timestamps are milliseconds since the Unix epoch. JSON columns have the type `json` and not `jsonb`, so that
-- numbers are read back exactly as they were written.

-- The store: its id, and the time and transaction id of the last sweep.
CREATE TABLE vmafx.meta (
    one            boolean PRIMARY KEY DEFAULT true CHECK (one),
    schema_version bigint  NOT NULL,
    store_id       uuid    NOT NULL DEFAULT gen_random_uuid(),
    swept_at       bigint,
    swept_xid      xid8    NOT NULL DEFAULT pg_current_xact_id()
);

CREATE TABLE vmafx.node_sessions (
    id           uuid   PRIMARY KEY,
    tenant_id    text   NOT NULL CHECK (tenant_id <> ''),
    node_id      text   NOT NULL,
    token_sha256 bytea  NOT NULL CHECK (octet_length(token_sha256) = 32),
    capability   json   NOT NULL,
    resource     json,
    created_at   bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    expires_at   bigint NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX node_sessions_tenant ON vmafx.node_sessions (tenant_id);

-- `ready`: whether the job can be claimed. A pending job that is not ready is in back-off until `available_at`.
-- `change_xid`: the transaction of the last change. Numbers of a sequence become visible out of order, whereas no further
-- change can appear below the oldest running transaction.
-- No index contains `lease_expires_at` or the progress, so the updates of heartbeats stay on their page (HOT).
CREATE TABLE vmafx.jobs (
    id                uuid    PRIMARY KEY,
    tenant_id         text    NOT NULL CHECK (tenant_id <> ''),
    status            text    NOT NULL
        CHECK (status IN ('pending', 'running', 'completed', 'failed', 'cancelled')),
    ready             boolean NOT NULL DEFAULT true,
    backend           text    NOT NULL,
    priority          integer NOT NULL,
    created_at        bigint  NOT NULL,
    change_xid        xid8    NOT NULL DEFAULT pg_current_xact_id(),
    revision          bigint  NOT NULL DEFAULT 1,
    attempt           bigint  NOT NULL DEFAULT 0,
    lost_attempts     bigint  NOT NULL DEFAULT 0 CHECK (lost_attempts BETWEEN 0 AND attempt),
    max_lost_attempts bigint  NOT NULL DEFAULT 3 CHECK (max_lost_attempts >= 1),
    updated_at        bigint  NOT NULL,
    started_at        bigint,
    finished_at       bigint,
    available_at      bigint,
    deadline_at       bigint,
    lease_session     uuid,
    lease_expires_at  bigint,
    progress_done     bigint,
    progress_total    bigint,
    failure_reason    integer NOT NULL DEFAULT 0,
    label             double precision,
    score             double precision,
    node              text,
    error             text    NOT NULL DEFAULT '',
    idempotency_key   text    CHECK (idempotency_key <> ''),
    origin_cluster    text,
    origin_namespace  text,
    origin_name       text,
    origin_uid        text,
    spec              json    NOT NULL,
    features          json,
    details           json,
    CONSTRAINT leased_while_running CHECK ((status = 'running') = (lease_expires_at IS NOT NULL)),
    CONSTRAINT held_while_running CHECK ((status = 'running') = (lease_session IS NOT NULL)),
    CONSTRAINT finished_when_over
        CHECK ((status IN ('completed', 'failed', 'cancelled')) = (finished_at IS NOT NULL)),
    CONSTRAINT scored_when_completed CHECK ((status = 'completed') = (score IS NOT NULL AND features IS NOT NULL)),
    CONSTRAINT ready_while_pending CHECK (NOT ready OR status = 'pending'),
    CONSTRAINT pauses_while_pending CHECK (available_at IS NULL OR status = 'pending'),
    CONSTRAINT waits_for_something CHECK (status <> 'pending' OR ready OR available_at IS NOT NULL)
) WITH (
    fillfactor = 80,
    -- Every job is updated at least three times, so dead tuples must be vacuumed long before the default threshold
    -- of a large table.
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.02
);

-- Read by claims: only claimable jobs, in claim order within each backend.
CREATE INDEX jobs_claim ON vmafx.jobs (tenant_id, backend, priority DESC, created_at, id) WHERE ready;
CREATE INDEX jobs_pause ON vmafx.jobs (tenant_id, backend, available_at) WHERE status = 'pending' AND NOT ready;
CREATE INDEX jobs_list ON vmafx.jobs (tenant_id, status, created_at, id);
CREATE INDEX jobs_change ON vmafx.jobs (tenant_id, change_xid, id);
CREATE INDEX jobs_running ON vmafx.jobs (tenant_id, lease_session) WHERE status = 'running';
CREATE INDEX jobs_deadline ON vmafx.jobs (deadline_at) WHERE deadline_at IS NOT NULL AND finished_at IS NULL;
CREATE INDEX jobs_finished ON vmafx.jobs (tenant_id, finished_at, id) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_origin ON vmafx.jobs (origin_uid, tenant_id) WHERE origin_uid IS NOT NULL;
CREATE UNIQUE INDEX jobs_key ON vmafx.jobs (idempotency_key, tenant_id) WHERE idempotency_key IS NOT NULL;

-- Every attempt, with the labels that its node had at the time.
CREATE TABLE vmafx.job_attempts (
    job_id      uuid   NOT NULL REFERENCES vmafx.jobs ON DELETE CASCADE,
    attempt     bigint NOT NULL,
    tenant_id   text   NOT NULL CHECK (tenant_id <> ''),
    session_id  uuid   NOT NULL,
    node_id     text   NOT NULL,
    node_labels json   NOT NULL,
    started_at  bigint NOT NULL,
    ended_at    bigint,
    outcome     text   CHECK (outcome IN ('completed', 'failed', 'released', 'expired', 'cancelled')),
    error       text   NOT NULL DEFAULT '',
    PRIMARY KEY (job_id, attempt),
    CONSTRAINT ended_somehow CHECK ((ended_at IS NULL) = (outcome IS NULL))
) WITH (fillfactor = 80);

-- Completed jobs with a label. Samples outlive their jobs.
CREATE TABLE vmafx.samples (
    tenant_id   text   NOT NULL CHECK (tenant_id <> ''),
    change_xid  xid8   NOT NULL DEFAULT pg_current_xact_id(),
    id          bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    job_id      uuid   NOT NULL,
    features    json   NOT NULL,
    label       double precision NOT NULL,
    node_labels json   NOT NULL,
    created_at  bigint NOT NULL,
    PRIMARY KEY (tenant_id, change_xid, id)
);

-- The newest removed sample of each tenant: a reader whose cursor lies before it has missed samples.
CREATE TABLE vmafx.samples_removed (
    tenant_id  text   PRIMARY KEY CHECK (tenant_id <> ''),
    change_xid xid8   NOT NULL,
    id         bigint NOT NULL
);

-- A transaction sees the rows of the tenant that it names, or all rows for the controller's own operations. FORCE
-- applies the policy to the owner of the tables, which is the role that the store uses. The settings are read once
-- for each statement, not for each row.
DO $$
DECLARE tenants_table text;
BEGIN
    FOREACH tenants_table IN ARRAY ARRAY['node_sessions', 'jobs', 'job_attempts', 'samples', 'samples_removed'] LOOP
        EXECUTE format('ALTER TABLE vmafx.%I ENABLE ROW LEVEL SECURITY', tenants_table);
        EXECUTE format('ALTER TABLE vmafx.%I FORCE ROW LEVEL SECURITY', tenants_table);
        EXECUTE format(
            'CREATE POLICY of_the_tenant ON vmafx.%I USING (
                 tenant_id = (SELECT current_setting(''vmafx.tenant_id'', true))
                 OR (SELECT current_setting(''vmafx.maintenance'', true)) = ''on'')',
            tenants_table);
    END LOOP;
END $$;

-- The triggers record the changes of a transaction in a setting of its connection, one line for each tenant.
-- `announce` sends the lines after the commit, because the server delivers notifications in commit order and would
-- serialize the disk syncs of all transactions that contain one. A line has a maximum length; beyond it the
-- claimable jobs are left out, and the receiver queries them.
CREATE FUNCTION vmafx.tell_of_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE news text;
BEGIN
    SELECT string_agg(vmafx.line(of_tenant.tenant_id, of_tenant.work, true, false), '') INTO news
    FROM (
        SELECT classes.tenant_id, json_object_agg(classes.backend, classes.jobs) FILTER (WHERE classes.jobs > 0) AS work
        FROM (
            SELECT changed.tenant_id, changed.backend, count(*) FILTER (WHERE changed.ready) AS jobs
            FROM changed WHERE changed.change_xid = pg_current_xact_id()
            GROUP BY changed.tenant_id, changed.backend
        ) classes
        GROUP BY classes.tenant_id
    ) of_tenant;
    IF news IS NOT NULL THEN
        PERFORM vmafx.note(news);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION vmafx.tell_of_samples() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE news text;
BEGIN
    SELECT string_agg(vmafx.line(of_tenant.tenant_id, NULL, false, true), '') INTO news
    FROM (SELECT DISTINCT tenant_id FROM added) of_tenant;
    IF news IS NOT NULL THEN
        PERFORM vmafx.note(news);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION vmafx.line(tenant text, work json, changed boolean, sampled boolean) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT json_build_object(
        'from', current_setting('vmafx.instance', true), 'tenant', tenant,
        'work', CASE WHEN octet_length(work::text) < 6000 THEN work END,
        'unsaid', coalesce(octet_length(work::text) >= 6000, false),
        'changed', changed, 'sampled', sampled)::text || E'\n'
$$;

CREATE FUNCTION vmafx.note(news text) RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT set_config('vmafx.news', coalesce(current_setting('vmafx.news', true), '') || news, false)
$$;

-- Nothing is lost if the server crashes, because all listeners then reconnect and read everything.
CREATE FUNCTION vmafx.announce() RETURNS void LANGUAGE plpgsql AS $$
DECLARE news text := current_setting('vmafx.news', true);
BEGIN
    IF news <> '' THEN
        PERFORM set_config('vmafx.news', '', false);
        PERFORM set_config('synchronous_commit', 'off', true);
        PERFORM pg_notify('vmafx_jobs', line) FROM unnest(string_to_array(news, E'\n')) AS line WHERE line <> '';
    END IF;
END $$;

CREATE TRIGGER jobs_inserted AFTER INSERT ON vmafx.jobs
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION vmafx.tell_of_jobs();
CREATE TRIGGER jobs_updated AFTER UPDATE ON vmafx.jobs
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION vmafx.tell_of_jobs();
CREATE TRIGGER samples_inserted AFTER INSERT ON vmafx.samples
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION vmafx.tell_of_samples();
