-- The pull that claimed a running job, so that the node can give back a job whose assignment never arrived.
ALTER TABLE jobs ADD COLUMN lease_pull BLOB;
