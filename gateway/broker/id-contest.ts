import { MINUTE_MS } from '#shared/time.ts'

/** A device notices a dead connection and is back within seconds; from another address, or a second client, at once. */
const ALIVE_MS = 10_000
/** From the same address a device that restarts looks like a second one: it takes longer to do so. */
const ALIVE_AT_ADDRESS_MS = 3_000
const CONTEST_TAKEOVERS = 3
const CONTEST_RETURNS = 2
const KEPT_TAKEOVERS = 10

/** A connection with a client id, and what became of the id before it had it. Times are monotonic. */
export interface IdHolder {
  readonly address: string
  /** When its last byte came. */
  heardAtMs: number
  /** Times in the last minute that the id was taken from a connection that was alive, oldest first. */
  takeovers: readonly Takeover[]
  /** The last takeover that was part of a contest. */
  contestedAtMs: number
}

interface Takeover {
  atMs: number
  /** The address that lost the id. */
  lostBy: string
  /** It went to an address that had lost it before. */
  isReturn: boolean
}

/**
 * Notes that `successor` takes the client id of `predecessor`. Returns how many takeovers it adds to a contest, in
 * which two clients take the id from each other: three takeovers in a minute, two of them by an address that had lost
 * it. A client that comes back over a bad network takes it from a connection that is silent. Undefined without a
 * contest.
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
  if (nowMs - predecessor.heardAtMs > aliveMs) return undefined
  const isReturn = recent.some(({ lostBy }) => lostBy === successor.address)
  const takeovers = [...recent, { atMs: nowMs, lostBy: predecessor.address, isReturn }].slice(-KEPT_TAKEOVERS)
  successor.takeovers = takeovers
  const returns = takeovers.filter((one) => one.isReturn).length
  const isContest = takeovers.length >= CONTEST_TAKEOVERS && returns >= CONTEST_RETURNS
  if (!(isContested ? isReturn : isContest)) return undefined
  successor.contestedAtMs = nowMs
  return { takeovers: isContested ? 1 : takeovers.length, isNew: !isContested }
}
