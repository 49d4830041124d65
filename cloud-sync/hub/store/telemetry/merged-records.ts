import { mergeRecords } from '#shared/telemetry/merge.ts'
import type { RecordKind, Records } from '#shared/telemetry/records.ts'

/** Merges chunks of ascending records. Of two records with one time, the one of the earlier chunk stays. */
export function mergeAll<R extends Records>(kind: RecordKind<R>, pieces: readonly R[]): R {
  const sorted = pieces.filter(({ atMs }) => atMs.length > 0).sort((a, b) => firstMs(a) - firstMs(b))
  const chain: R[] = []
  for (const piece of sorted) appendTo(chain, kind, piece)
  return joined(kind, chain)
}

/** Appends a chunk, or merges it into the last one if they overlap; none may begin before the previous one did. */
function appendTo<R extends Records>(chain: R[], kind: RecordKind<R>, piece: R): void {
  const last = chain.at(-1)
  if (last === undefined || lastMs(last) < firstMs(piece)) chain.push(piece)
  else chain[chain.length - 1] = mergeRecords(kind, last, piece)
}

function joined<R extends Records>(kind: RecordKind<R>, chain: readonly R[]): R {
  const [only] = chain
  if (chain.length === 1 && only !== undefined) return only
  const all = kind.allocate(chain.reduce((sum, { atMs }) => sum + atMs.length, 0))
  const into = kind.columnsOf(all)
  let at = 0
  for (const piece of chain) {
    all.atMs.set(piece.atMs, at)
    for (const [i, column] of kind.columnsOf(piece).entries()) into[i]?.set(column, at)
    at += piece.atMs.length
  }
  return all
}

export function pickRecords<R extends Records>(kind: RecordKind<R>, records: R, indices: readonly number[]): R {
  const picked = kind.allocate(indices.length)
  const from = kind.columnsOf(records)
  const into = kind.columnsOf(picked)
  for (const [at, index] of indices.entries()) {
    picked.atMs[at] = records.atMs[index] ?? Number.NaN
    for (const [i, column] of into.entries()) column[at] = from[i]?.[index] ?? 0
  }
  return picked
}

export function firstMs({ atMs }: Records): number {
  return atMs[0] ?? Number.POSITIVE_INFINITY
}

export function lastMs({ atMs }: Records): number {
  return atMs[atMs.length - 1] ?? Number.NEGATIVE_INFINITY
}
