-- What a job occupies, as counted against the limit of its tenant. Jobs of earlier versions count 0 until they change.
ALTER TABLE jobs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0);

-- The sum of `bytes` of each tenant, stored with every change, because a sum over all jobs would read the whole table.
CREATE TABLE tenant_usage (
    tenant TEXT    NOT NULL PRIMARY KEY,
    bytes  INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT, WITHOUT ROWID;
