import { readFileSync } from 'node:fs'
import { type Journal, journalSchema } from './plan.ts'

/** Reads what a load generator wrote as its journal. */
export function readJournal(path: string): Journal {
  return journalSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
}
