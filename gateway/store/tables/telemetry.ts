import { SEQUENCE_GAP, table } from '../db/table.ts'

const LOG_NUMBER = `max(ifnull((SELECT max(first_seq) FROM telemetry_log), 0),
  ifnull((SELECT max(seq) FROM sync_cursor WHERE stream = 'telemetry'), 0),
  ifnull((SELECT max(telemetry_seq) FROM erase_mark), 0))`

export const telemetryDeletionTable = table('telemetry_deletion', {
  care: {
    what: 'deleted devices whose telemetry is still to go',
    meaning: 'The telemetry of a deleted device may stay until it is too old.',
  },
})

export const telemetryLogEndTable = table('telemetry_log_end', {
  care: {
    what: 'the last number of the telemetry log',
    meaning: 'Numbers go on far above any that may have been given.',
    afterLoss: [
      `INSERT OR IGNORE INTO telemetry_log_end (only, next_seq, cuts, saved_seq)
         VALUES (1, ${LOG_NUMBER} + ${SEQUENCE_GAP}, unixepoch(),
           ifnull((SELECT max(first_seq) FROM telemetry_log), 0))`,
    ],
  },
})

export const stateChangeTable = table('state_change', {
  care: {
    what: 'the newest states of devices that sent nothing else',
    hasOwnSums: true,
    meaning:
      'Devices that are missing in it show their state of up to a minute before. What is missing comes back when ' +
      'it is sent again.',
  },
})

export const telemetryLogTable = table('telemetry_log', {
  care: {
    what: 'the newest telemetry',
    hasOwnSums: true,
    meaning: 'Records of the last minutes are missing. What is missing comes back when it is sent again.',
    afterLoss: [
      `UPDATE telemetry_log_end
         SET next_seq = max(next_seq, ${LOG_NUMBER}) + ${SEQUENCE_GAP}, cuts = cuts + 1`,
    ],
  },
})

export const damagedBlockTable = table('damaged_block', {
  care: {
    what: 'blocks of telemetry that were put aside as damaged',
    size: 'huge',
    meaning: 'Some of them cannot be repaired.',
  },
})

export const hiddenBlockTable = table('hidden_block', {
  care: {
    what: 'blocks of tables that were set aside and are not read any more',
    isRemembered: true,
    meaning: 'Deleted telemetry may be shown again until it is too old.',
  },
})

export const telemetryBlockTable = table('telemetry_block', {
  care: {
    what: 'the history of positions and voltages',
    size: 'huge',
    hasOwnSums: true,
    meaning: 'Records on the damaged pages are left out of histories and trips.',
  },
})
