-- Who gave a label: an opaque name. Labels of earlier versions have none, which is a name of its own.
ALTER TABLE jobs ADD COLUMN labelled_by TEXT NOT NULL DEFAULT '';
ALTER TABLE samples ADD COLUMN labelled_by TEXT NOT NULL DEFAULT '';
