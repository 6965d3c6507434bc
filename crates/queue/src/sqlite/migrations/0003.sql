-- The digest of the token of the session that held an expired attempt, so that its score is still accepted after the
-- session was evicted.
ALTER TABLE attempts ADD COLUMN token_sha256 BLOB;
