import { MINUTE_MS } from '#shared/time.ts'

/** A device notices a dead connection and is back in seconds; from another address or as a second client, sooner. */
const ALIVE_MS = 10_000
/** From the same address, a restarted device looks like a second one; a restart takes longer than this. */
const ALIVE_AT_ADDRESS_MS = 3_000
const CONTEST_TAKEOVERS = 3
const CONTEST_RETURNS = 2
const KEPT_TAKEOVERS = 10

/** Connection with a client id, and earlier takeovers of the id. Times are monotonic. */
export interface IdHolder {
  readonly address: string
  /** Time of its last byte. */
  lastByteAtMs: number
  /** Takeovers in the last minute from a connection that was alive, oldest first. */
  takeovers: readonly Takeover[]
  /** Time of the last takeover that was part of a contest. */
  contestedAtMs: number
}

interface Takeover {
  atMs: number
  /** Address that lost the id. */
  lostBy: string
  /** True if it went to an address that had lost it before. */
  isReturn: boolean
}

/**
 * Records that `successor` takes the client id of `predecessor`. Returns the number of takeovers it adds to a contest,
 * in which two clients take the id from each other: three takeovers in a minute, two of them by an address that had
 * lost it. Undefined without one: a client that reconnects over a bad network takes the id from an idle connection.
 */
export function takeOver(
  predecessor: IdHolder,
  successor: IdHolder,
  nowMs: number,
): { takeovers: number; isNew: boolean } | undefined {
  const recent = predecessor.takeovers.filter(({ atMs }) => nowMs - atMs < MINUTE_MS)
  const isContested = nowMs - predecessor.contestedAtMs < MINUTE_MS
  successor.takeovers = recent
  successor.contestedAtMs = predecessor.contestedAtMs
  const aliveMs = predecessor.address === successor.address ? ALIVE_AT_ADDRESS_MS : ALIVE_MS
  if (nowMs - predecessor.lastByteAtMs > aliveMs) return undefined
  const isReturn = recent.some(({ lostBy }) => lostBy === successor.address)
  const takeovers = [...recent, { atMs: nowMs, lostBy: predecessor.address, isReturn }].slice(-KEPT_TAKEOVERS)
  successor.takeovers = takeovers
  const returns = takeovers.filter((one) => one.isReturn).length
  const isContest = takeovers.length >= CONTEST_TAKEOVERS && returns >= CONTEST_RETURNS
  if (!(isContested ? isReturn : isContest)) return undefined
  successor.contestedAtMs = nowMs
  return { takeovers: isContested ? 1 : takeovers.length, isNew: !isContested }
}
