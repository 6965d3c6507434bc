-- The cause of a cancellation as a name. The operator used to derive it from the error text.
ALTER TABLE vmafx.jobs ADD COLUMN cancel_cause text;
UPDATE vmafx.jobs SET cancel_cause = CASE
        WHEN error LIKE '%suspended by its VmafxJob%' THEN 'Suspended'
        WHEN error LIKE '%its VmafxJob has another priority%' THEN 'Replaced'
        WHEN error LIKE '%its VmafxJob is gone%' THEN 'ResourceGone'
    END
WHERE status = 'cancelled';
