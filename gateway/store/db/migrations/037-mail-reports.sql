-- Reports of a day or month that the gateway sends by e-mail.
CREATE TABLE mail_report (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  report_id TEXT NOT NULL UNIQUE,
  recipient TEXT NOT NULL,
  report TEXT NOT NULL, -- day or month
  at TEXT NOT NULL, -- closing, or HH:MM
  language TEXT, -- null for that of the site
  created_at_ms INTEGER NOT NULL,
  done_for TEXT NOT NULL, -- newest day or month that needs no mail any more
  last_sent_at_ms INTEGER,
  last_for TEXT, -- newest day or month that was sent
  last_error TEXT,
  test_id TEXT -- id of a test that is not sent yet
) STRICT;
-- An erasure of the address deletes the report.
CREATE TRIGGER mail_report_erased AFTER UPDATE OF recipient ON mail_report WHEN NEW.recipient = ''
BEGIN
  DELETE FROM mail_report WHERE seq = NEW.seq;
END;
