import { table } from '../db/table.ts'

export const sqliteSequenceTable = table('sqlite_sequence', {
  care: {
    what: 'the last number given in each table',
    meaning: 'Numbers go on far above any that may have been given.',
  },
})

export const migrationTable = table('migration', {
  care: {
    what: 'which programs brought the database to its schema',
    meaning: 'A program that is too old for it cannot say which to install.',
  },
})
