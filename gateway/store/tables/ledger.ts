import { table } from '../db/table.ts'

export const syncIdentityTable = table('sync_identity', {
  care: {
    what: 'as what the head office knows this gateway',
    isRemembered: true,
    meaning: 'The head office takes the gateway for another one until its site is set up again.',
    afterLoss: ['INSERT OR IGNORE INTO sync_identity (only, epoch) VALUES (1, lower(hex(randomblob(16))))'],
  },
  json: {
    forked_from: { type: 'object', cure: 'null' },
  },
})

export const syncCursorTable = table('sync_cursor', {
  care: {
    what: 'how far the head office has everything',
    meaning: 'The head office is asked what it has, and compares.',
  },
})

export const eraseMarkTable = table('erase_mark', {
  care: {
    what: 'where the data of deleted devices ends for the head office',
    meaning: 'A deletion may reach the head office after later records.',
  },
})

export const intentInboxTable = table('intent_inbox', {
  care: {
    what: 'wishes of the head office that were received',
    meaning: 'A wish may be fulfilled a second time.',
  },
})

export const noteTable = table('note', {
  care: {
    what: 'what the head office is to be told',
    meaning: 'The head office finds what it was not told when it compares.',
  },
})

export const blockLogTable = table('block_log', {
  care: {
    what: 'which blocks of telemetry the head office is to get',
    size: 'large',
    meaning: 'The head office finds what it was not told when it compares.',
  },
  belongsTo: ['block_id', 'telemetry_block'],
})
