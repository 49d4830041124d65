-- Texts that staff send to carts with a tap; no row while they are the first ones.
CREATE TABLE ready_texts (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  texts TEXT NOT NULL -- JSON: a list as PUT /texts has it
) STRICT;
