-- Controllers send announcements themselves, and several transactions share one. The functions of these triggers
-- stay, because a controller of the previous version may still be running and calling them.
DROP TRIGGER IF EXISTS jobs_inserted ON vmafx.jobs;
DROP TRIGGER IF EXISTS jobs_updated ON vmafx.jobs;
DROP TRIGGER IF EXISTS samples_inserted ON vmafx.samples;
