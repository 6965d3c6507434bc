-- The pull that claimed a running job, so that the node can give back a job whose assignment never arrived.
ALTER TABLE vmafx.jobs ADD COLUMN lease_pull uuid;
