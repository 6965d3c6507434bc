-- Controllers say themselves what they did, and several transactions of one share a notice. The functions that these
-- triggers call stay: a controller of the version before may still run and call them.
DROP TRIGGER IF EXISTS jobs_inserted ON vmafx.jobs;
DROP TRIGGER IF EXISTS jobs_updated ON vmafx.jobs;
DROP TRIGGER IF EXISTS samples_inserted ON vmafx.samples;
