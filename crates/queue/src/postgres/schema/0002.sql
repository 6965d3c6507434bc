-- The statement that changes a job also writes its attempts, and the one that deletes a job also deletes them. The
-- foreign key adds nothing and costs a lookup for every attempt.
ALTER TABLE vmafx.job_attempts DROP CONSTRAINT job_attempts_job_id_fkey;
