-- The lives of the store, oldest first: every opening begins one. Cursors name their life; those of an earlier life
-- are good up to the numbers with which the next one began.
CREATE TABLE lives (
    number     INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    job_seq    INTEGER NOT NULL,
    sample_seq INTEGER NOT NULL
) STRICT;

-- Cursors of earlier versions name the store, which is their life.
INSERT INTO lives (id, job_seq, sample_seq) SELECT id, 0, 0 FROM store;
