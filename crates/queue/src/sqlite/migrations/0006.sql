-- The request of the next attempt, if the job was changed while it ran. A claim moves it to `spec`.
ALTER TABLE jobs ADD COLUMN next_spec TEXT;
