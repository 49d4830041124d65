import { isBlockTime } from './block-header.ts'
import { NO_SPEED, type RecordKind, type Records } from './records.ts'

/**
 * Describes why no block or run can hold the records (none, not ascending, values against the rules); else undefined.
 */
export function findFault<R extends Records>(kind: RecordKind<R>, records: R): string | undefined {
  const { atMs } = records
  if (atMs.length === 0) return 'no records'
  let before = -1
  for (let i = 0; i < atMs.length; i++) {
    const time = atMs[i] ?? 0
    if (!isBlockTime(time) || time <= before) return `time ${time} behind ${before}`
    before = time
  }
  const columns = kind.columnsOf(records)
  for (const [i, { name, min, max, isOptional }] of kind.rules.entries()) {
    const column = columns[i]
    if (column?.length !== atMs.length) return 'columns of different lengths'
    const least = isOptional ? NO_SPEED : min
    for (let j = 0; j < column.length; j++) {
      const value = column[j] ?? 0
      if (value < least || value > max) return `${name} ${value}`
    }
  }
  return undefined
}
