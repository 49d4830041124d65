import { table } from '../db/table.ts'

export const sqliteSequenceTable = table('sqlite_sequence', {
  care: {
    what: 'the last number assigned in each table',
    meaning: 'Numbering continues far above any number that may have been assigned.',
  },
})

export const migrationTable = table('migration', {
  care: {
    what: 'the program versions that migrated the database',
    meaning: 'A program that is too old for the database cannot name the version to install.',
  },
})
