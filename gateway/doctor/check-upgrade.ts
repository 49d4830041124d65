import { undoneValues } from '#shared/wire/machine/findings.ts'
import { readProgramRecord } from '#store/upgrade/program-record.ts'
import { type Finding, shared } from './finding.ts'

/** Warns if the last upgrade of the data folder failed and was undone. */
export function checkUpgrade(dataDir: string): Finding[] {
  const record = readProgramRecord(dataDir)
  const swapped = record?.swappedBack
  // a different program has used the folder since
  if (swapped === undefined || swapped.to !== record?.program) return []
  return [shared('upgrade_undone', undoneValues(swapped))]
}
