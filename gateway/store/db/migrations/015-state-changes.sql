-- What a transaction changed in the states of devices, beside the samples it brought: store/telemetry/state-changes.ts.
-- device_state is written once a minute and when the log is shortened; what is newer than its rows is here.
ALTER TABLE telemetry_log ADD COLUMN state_changes BLOB;

-- device_state holds all of the log up to the row with this first_seq.
ALTER TABLE telemetry_log_end ADD COLUMN saved_seq INTEGER NOT NULL DEFAULT 0;
UPDATE telemetry_log_end SET saved_seq = ifnull((SELECT max(first_seq) FROM telemetry_log), 0);

-- The same of transactions that brought no new sample; a row goes when device_state holds it.
CREATE TABLE state_change (
  state_change_id INTEGER PRIMARY KEY,
  after_seq INTEGER NOT NULL, -- the last row of the log at that time, by its first_seq
  changes BLOB NOT NULL
) STRICT;
