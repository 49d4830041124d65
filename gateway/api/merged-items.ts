import type { JsonItems } from '../store/trips.ts'

/** Bytes in a piece of an answer. */
const PIECE_BYTES = 65_536

const COMMA = Buffer.from(',')

/**
 * The items of many lists as one list by when they began, of equal times those of the earlier list first: JSON with
 * commas between them, a piece at a time. Between the items of one list there are commas already, so what comes from one
 * list in a row is taken as it is.
 */
export function* mergedItems(lists: readonly JsonItems[]): Generator<Uint8Array> {
  const places = lists.map(() => 0)
  let run: { list: number; from: number } | undefined
  let piece: Uint8Array[] = []
  let pieceBytes = 0
  let isFirst = true

  const take = (bytes: Uint8Array) => {
    piece.push(bytes)
    pieceBytes += bytes.length
  }
  const endRun = () => {
    if (run === undefined) return
    const { text, ends } = lists[run.list] ?? NOTHING
    if (!isFirst) take(COMMA)
    isFirst = false
    take(text.subarray(run.from === 0 ? 0 : (ends[run.from - 1] ?? 0) + 1, ends[(places[run.list] ?? 0) - 1]))
    run = undefined
  }
  for (let list = earliest(lists, places); list !== undefined; list = earliest(lists, places)) {
    if (run?.list !== list) {
      endRun()
      if (pieceBytes >= PIECE_BYTES) {
        yield Buffer.concat(piece)
        piece = []
        pieceBytes = 0
      }
      run = { list, from: places[list] ?? 0 }
    }
    places[list] = (places[list] ?? 0) + 1
  }
  endRun()
  if (pieceBytes > 0) yield Buffer.concat(piece)
}

const NOTHING = { text: new Uint8Array(), ends: new Uint32Array(), startMs: new Float64Array() }

/** The list whose next item began first. */
function earliest(lists: readonly JsonItems[], places: readonly number[]): number | undefined {
  let found: number | undefined
  let foundMs = Number.POSITIVE_INFINITY
  for (const [i, { startMs }] of lists.entries()) {
    const nextMs = startMs[places[i] ?? 0]
    if (nextMs === undefined || nextMs >= foundMs) continue
    found = i
    foundMs = nextMs
  }
  return found
}
