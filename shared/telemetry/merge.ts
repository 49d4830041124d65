import { MAX_BLOCK_RECORDS } from './block.ts'
import type { RecordKind, Records } from './records.ts'

/** Merges late records into those of a block; both must ascend. For equal times the block's record stays. */
export function mergeRecords<R extends Records>(kind: RecordKind<R>, kept: R, late: R): R {
  const merged = kind.allocate(kept.atMs.length + late.atMs.length)
  const from = { kept: columnsWithTime(kind, kept), late: columnsWithTime(kind, late) }
  const into = columnsWithTime(kind, merged)
  let count = 0
  let k = 0
  let l = 0
  while (k < kept.atMs.length || l < late.atMs.length) {
    const keptMs = kept.atMs[k] ?? Number.POSITIVE_INFINITY
    const lateMs = late.atMs[l] ?? Number.POSITIVE_INFINITY
    const isKept = keptMs <= lateMs
    const columns = isKept ? from.kept : from.late
    const i = isKept ? k : l
    for (let c = 0; c < into.length; c++) copyValue(columns[c], i, into[c], count)
    if (lateMs <= keptMs) l++
    if (isKept) k++
    count++
  }
  return kind.view(merged, 0, count)
}

/** Returns the indices of the late times that the block contains already. Both must ascend. */
export function findDuplicates(keptMs: Float64Array, lateMs: Float64Array): number[] {
  const duplicates: number[] = []
  let k = 0
  for (let l = 0; l < lateMs.length; l++) {
    const time = lateMs[l] ?? Number.NaN
    while (k < keptMs.length && (keptMs[k] ?? Number.NaN) < time) k++
    if (keptMs[k] === time) duplicates.push(l)
  }
  return duplicates
}

/** Splits records into full blocks, in order; the last one holds the rest. Copies nothing. */
export function splitIntoFullBlocks<R extends Records>(kind: RecordKind<R>, records: R): R[] {
  return splitEvery(kind, records, MAX_BLOCK_RECORDS)
}

/** Splits records evenly into the fewest blocks, so that each has room for later records. Copies nothing. */
export function splitEvenly<R extends Records>(kind: RecordKind<R>, records: R): R[] {
  const count = records.atMs.length
  const blocks = Math.ceil(count / MAX_BLOCK_RECORDS)
  return splitEvery(kind, records, Math.ceil(count / Math.max(blocks, 1)))
}

function splitEvery<R extends Records>(kind: RecordKind<R>, records: R, size: number): R[] {
  const count = records.atMs.length
  const parts: R[] = []
  for (let from = 0; from < count; from += size) {
    parts.push(kind.view(records, from, Math.min(from + size, count)))
  }
  return parts
}

type Column = Float64Array | Int32Array

function columnsWithTime<R extends Records>(kind: RecordKind<R>, records: R): readonly Column[] {
  return [records.atMs, ...kind.columnsOf(records)]
}

function copyValue(from: Column | undefined, i: number, into: Column | undefined, j: number): void {
  if (into !== undefined) into[j] = from?.[i] ?? Number.NaN
}
