ALTER TABLE cart_note ADD COLUMN kind TEXT; -- null for a golf cart
-- the head office has the rows without it
UPDATE cart_note SET note = note;
