import { describeError, InvalidRequestError, UnavailableError } from '#shared/errors.ts'

/** Serialization failure and deadlock: the database aborted one of two conflicting transactions. */
const RETRIED = new Set(['40001', '40P01'])
const MAX_ATTEMPTS = 12
const FIRST_DELAY_MS = 10
const MAX_DELAY_MS = 1_000

/** Repeats an aborted transaction, after a random pause that grows. */
export async function withRetries<Result>(
  work: () => Promise<Result>,
  isRetried: (error: unknown) => boolean = isBrokenOff,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || !isRetried(error)) throw error
    }
    const delayMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt) * Math.random()
    await new Promise((resolve) => setTimeout(resolve, delayMs))
  }
}

/** Returns the SQLSTATE of a database error, or the code of a network error. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

export function isBrokenOff(error: unknown): boolean {
  return RETRIED.has(codeOf(error) ?? '')
}

// connections (08), resources (53), the operator (57), the system (58); 25006: a server that became a standby
const SQLSTATE_GONE = /^(08...|53...|57...|58...|25006)$/
const NETWORK_GONE = /^(E[A-Z]+|ENOTFOUND|EAI_AGAIN)$/
/** Messages of pg that have no code. */
const CONNECTION_GONE = /Connection terminated|timeout exceeded|Query read timeout|not queryable|after calling end/i

// the connection (08), a server that stops, stopped or starts (57P0x), or one that became a standby (25006)
const SQLSTATE_OTHER_SERVER = /^(08...|57P0.|25006)$/

/** True if the server is gone or accepts no writes any more: its connections are useless, even if it answers reads. */
export function isServerLost(error: unknown): boolean {
  const code = codeOf(error)
  if (code === undefined) return error instanceof Error && /Connection terminated/i.test(error.message)
  return SQLSTATE_OTHER_SERVER.test(code) || NETWORK_GONE.test(code)
}

/** True if a pooler between hub and server refuses a startup parameter; the message is that of PgBouncer. */
export function isStartupParameterRefused(error: unknown): boolean {
  return error instanceof Error && /unsupported startup parameter/i.test(error.message)
}

// two hubs share a connection of a pooler in turn (42P05), or one hub gets two connections (26000)
const SQLSTATE_STATEMENT_NAMES = new Set(['42P05', '26000'])

/** True if a pooler between hub and server does not track prepared statements. */
export function areNamesRefused(error: unknown): boolean {
  return SQLSTATE_STATEMENT_NAMES.has(codeOf(error) ?? '')
}

/** character_not_in_repertoire: no text may have U+0000. */
const NO_TEXT = '22021'

/** Returns `UnavailableError` for an unreachable database, `invalid_parameter` for unstorable text, else `error`. */
export function asAppError(error: unknown): unknown {
  const code = codeOf(error)
  if (code === NO_TEXT) {
    return new InvalidRequestError('invalid_parameter', 'a text contains U+0000, which the database cannot store')
  }
  const isGone =
    code === undefined
      ? error instanceof Error && CONNECTION_GONE.test(error.message)
      : SQLSTATE_GONE.test(code) || NETWORK_GONE.test(code)
  return isGone ? new UnavailableError(`the database is not available: ${describeError(error)}`, error) : error
}
