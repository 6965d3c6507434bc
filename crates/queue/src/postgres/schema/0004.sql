-- Why a job was cancelled, for programs. Until now its resource's operator read that out of the text.
ALTER TABLE vmafx.jobs ADD COLUMN cancel_cause text;
UPDATE vmafx.jobs SET cancel_cause = CASE
        WHEN error LIKE '%suspended by its VmafxJob%' THEN 'Suspended'
        WHEN error LIKE '%its VmafxJob has another priority%' THEN 'Replaced'
        WHEN error LIKE '%its VmafxJob is gone%' THEN 'ResourceGone'
    END
WHERE status = 'cancelled';
