-- Whoever reads blocks reads this. Where a page of the table is damaged, the table is set aside under another name, a new
-- one takes its place, and this view is made again over both: store/telemetry/blocks-aside.ts.
CREATE VIEW stored_block AS
SELECT block_id, device_id, stream, first_ms, last_ms, count, records FROM telemetry_block;

-- Blocks of a table that was set aside and are gone, or cannot be read: the table itself is not changed any more.
-- Nothing is deleted here, or they would be back.
CREATE TABLE hidden_block (
  block_id INTEGER PRIMARY KEY
) STRICT;
