import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '#shared/client.ts'
import { CommandError, systemCode } from './command.ts'

export interface RetryTimeoutOptions {
  /** Seconds for which a failing request is repeated. */
  retryForS: number
  signal: AbortSignal
  /** Called at the first failure of a request, with a readable reason. */
  onAway: (reason: string) => void
}

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000
/** Timeout of the start of a response. */
const ANSWER_LIMIT_MS = 60_000

const AWAY_STATUSES = [429, 502, 503, 504]
const AWAY_CODES = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]

/** Repeats requests while the gateway is unreachable or busy; each pause is twice the last. */
export class RetryTimeout {
  readonly #options: RetryTimeoutOptions

  constructor(options: RetryTimeoutOptions) {
    this.#options = options
  }

  /** Returns the final result of `request`. Throws `CommandError` for a failure that retrying cannot change. */
  async with<Result>(request: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const { retryForS, signal, onAway } = this.#options
    let pauseMs = FIRST_PAUSE_MS
    let awaySinceMs: number | undefined
    for (;;) {
      signal.throwIfAborted()
      const limit = new AbortController()
      // covers the start of a response: a download has no limit
      const timer = setTimeout(() => limit.abort(), ANSWER_LIMIT_MS)
      try {
        return await request(AbortSignal.any([signal, limit.signal]))
      } catch (error) {
        signal.throwIfAborted()
        const reason = whyAway(error, limit.signal)
        if (reason === undefined) throw inWords(error)
        if (awaySinceMs === undefined) onAway(reason)
        awaySinceMs ??= performance.now()
        const leftMs = awaySinceMs + retryForS * 1000 - performance.now()
        if (leftMs <= 0) throw new CommandError(`the gateway was away for ${retryForS} s: ${reason}`)
        const askedMs = error instanceof ApiError ? (error.retryAfterS ?? 0) * 1000 : 0
        await sleep(Math.min(leftMs, Math.max(pauseMs, askedMs)), undefined, { signal })
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
      } finally {
        clearTimeout(timer)
      }
    }
  }
}

/** Returns the reason why waiting may help; undefined if it would not. */
function whyAway(error: unknown, limit: AbortSignal): string | undefined {
  if (error instanceof ApiError)
    return AWAY_STATUSES.includes(error.status) ? `${error.status} ${error.code}` : undefined
  if (limit.aborted) return `no answer in ${ANSWER_LIMIT_MS / 1000} s`
  const code = networkCode(error)
  return code !== undefined && AWAY_CODES.includes(code) ? code : undefined
}

function networkCode(error: unknown): string | undefined {
  // fetch hides the system's error in the cause
  return systemCode(error instanceof Error ? error.cause : undefined)
}

function inWords(error: unknown): unknown {
  if (error instanceof ApiError) {
    const places = error.errors.slice(0, 3).map(({ name, detail }) => `${name} ${detail}`)
    const detail = places.length > 0 ? `${error.detail} (${places.join('; ')})` : error.detail
    return new CommandError(`the gateway answers ${error.status} ${error.code}: ${detail}`, { cause: error })
  }
  const code = networkCode(error)
  return code === undefined ? error : new CommandError(`the gateway cannot be reached: ${code}`)
}

/** True if `RetryTimeout` gave up because the gateway responded with `code`. */
export function isAnswer(error: unknown, code: string): boolean {
  return error instanceof CommandError && error.cause instanceof ApiError && error.cause.code === code
}
