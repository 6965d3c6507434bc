-- Who gave a label: an opaque name. Labels of earlier versions have none, which is a name of its own.
ALTER TABLE vmafx.jobs ADD COLUMN labelled_by text NOT NULL DEFAULT '';
ALTER TABLE vmafx.samples ADD COLUMN labelled_by text NOT NULL DEFAULT '';
