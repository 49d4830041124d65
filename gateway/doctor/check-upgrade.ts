import { readProgramRecord } from '#store/upgrade/program-record.ts'
import { type Finding, warning } from './finding.ts'

/** Whether the last upgrade of the data folder failed and was undone. */
export function checkUpgrade(dataDir: string): Finding[] {
  const record = readProgramRecord(dataDir)
  const swapped = record?.swappedBack
  // another program has the folder since
  if (swapped === undefined || swapped.to !== record?.program) return []
  const at = new Date(swapped.atMs).toISOString()
  return [
    warning(
      'upgrade',
      `${swapped.from} could not run, and ${swapped.to} is back since ${at} (${swapped.reason})`,
      'see docs/when-something-is-wrong.md, After an upgrade',
    ),
  ]
}
