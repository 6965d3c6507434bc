-- Below this transaction every change was visible to all readers when the last sweep ran.
ALTER TABLE vmafx.meta ADD COLUMN settled_xid xid8 NOT NULL DEFAULT '0';
UPDATE vmafx.meta SET settled_xid = pg_snapshot_xmin(pg_current_snapshot());

-- The lives of the store, oldest first: each start, promotion or restore of the database begins one. Cursors name
-- their life; those of earlier lives are good below the `settled_xid` of the next one.
CREATE TABLE vmafx.lives (
    number      bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          uuid   NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    home        text   NOT NULL,
    settled_xid xid8   NOT NULL
);

-- Cursors of earlier versions name the store, which is their life.
INSERT INTO vmafx.lives (id, home, settled_xid) SELECT store_id, '', '0' FROM vmafx.meta;
