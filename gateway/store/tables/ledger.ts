import { table } from '../db/table.ts'

export const syncIdentityTable = table('sync_identity', {
  care: {
    what: 'the identity of this gateway at the hub',
    isRemembered: true,
    meaning: 'The hub treats the gateway as a new one until its site is set up again.',
    afterLoss: ['INSERT OR IGNORE INTO sync_identity (only, epoch) VALUES (1, lower(hex(randomblob(16))))'],
  },
  json: {
    forked_from: { type: 'object', cure: 'null' },
  },
})

export const syncCursorTable = table('sync_cursor', {
  care: {
    what: 'the positions up to which the hub has all data',
    meaning: 'The gateway requests them from the hub and compares its data.',
  },
})

export const eraseMarkTable = table('erase_mark', {
  care: {
    what: 'the positions up to which the hub deletes erased telemetry',
    meaning: 'A deletion may reach the hub after later records.',
  },
})

export const intentInboxTable = table('intent_inbox', {
  care: {
    what: 'the intents received from the hub',
    meaning: 'An intent may be applied a second time.',
  },
})

export const noteTable = table('note', {
  care: {
    what: 'the notes to send to the hub',
    meaning: 'A comparison with the hub finds data that was not sent.',
  },
})

export const blockLogTable = table('block_log', {
  care: {
    what: 'the telemetry blocks to send to the hub',
    size: 'large',
    meaning: 'A comparison with the hub finds data that was not sent.',
  },
  belongsTo: ['block_id', 'telemetry_block'],
})
