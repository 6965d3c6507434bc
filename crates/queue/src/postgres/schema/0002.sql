-- An attempt is written by the statement that moves its job, and goes with it in the statement that removes it: looking
-- its job up again for each handing-out is dear and says nothing new.
ALTER TABLE vmafx.job_attempts DROP CONSTRAINT job_attempts_job_id_fkey;
