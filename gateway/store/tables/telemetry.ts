import { SEQUENCE_GAP, table } from '../db/table.ts'

const LOG_NUMBER = `max(ifnull((SELECT max(first_seq) FROM telemetry_log), 0),
  ifnull((SELECT max(seq) FROM sync_cursor WHERE stream = 'telemetry'), 0),
  ifnull((SELECT max(telemetry_seq) FROM erase_mark), 0))`

export const telemetryDeletionTable = table('telemetry_deletion', {
  care: {
    what: 'the deleted devices with telemetry to delete',
    meaning: 'The telemetry of a deleted device may stay until its retention ends.',
  },
})

export const telemetryLogEndTable = table('telemetry_log_end', {
  care: {
    what: 'the last number in the telemetry log',
    meaning: 'Numbering continues far above any number that may have been assigned.',
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
    meaning: 'Missing devices show a state up to a minute old. Missing values return when devices send them again.',
  },
})

export const telemetryLogTable = table('telemetry_log', {
  care: {
    what: 'the newest telemetry',
    hasOwnSums: true,
    meaning: 'Records of the last minutes are missing. They return if devices send them again.',
    afterLoss: [
      `UPDATE telemetry_log_end
         SET next_seq = max(next_seq, ${LOG_NUMBER}) + ${SEQUENCE_GAP}, cuts = cuts + 1`,
    ],
  },
})

export const damagedBlockTable = table('damaged_block', {
  care: {
    what: 'the quarantined blocks of telemetry',
    size: 'huge',
    meaning: 'Some of them cannot be repaired.',
  },
})

export const hiddenBlockTable = table('hidden_block', {
  care: {
    what: 'the hidden blocks of detached tables',
    isRemembered: true,
    meaning: 'Deleted telemetry may be shown again until its retention ends.',
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
