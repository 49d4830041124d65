import { readProgramRecord } from '#store/upgrade/program-record.ts'
import { type Finding, warning } from './finding.ts'

/** Warns if the last upgrade of the data folder failed and was undone. */
export function checkUpgrade(dataDir: string): Finding[] {
  const record = readProgramRecord(dataDir)
  const swapped = record?.swappedBack
  // a different program has used the folder since
  if (swapped === undefined || swapped.to !== record?.program) return []
  const at = new Date(swapped.atMs).toISOString()
  return [
    warning(
      'upgrade',
      `${swapped.from} could not run, and ${swapped.to} has run again since ${at} (${swapped.reason})`,
      'see docs/when-something-is-wrong.md, After an upgrade',
    ),
  ]
}
