import { z } from 'zod'
import { cursorProblemSchema, type SyncCursors } from '#shared/wire/replication/sync.ts'

/** Reason to repeat a request, counted as a metric. */
export type RetryReason = 'network' | 'timeout' | 'busy' | 'unavailable' | 'bad_answer'

export type RequestResult<Answer> =
  | { readonly kind: 'ok'; readonly answer: Answer }
  /** The cursors of the hub are different; it applied nothing. */
  | { readonly kind: 'cursor'; readonly cursors: SyncCursors }
  | Failure

export type Failure =
  | { readonly kind: 'unknown_epoch' | 'ahead' | 'foreign_epoch'; readonly detail: string }
  /** The hub accepts nothing until an admin acts. */
  | { readonly kind: 'refused'; readonly detail: string }
  | { readonly kind: 'too_large'; readonly detail: string }
  /** The hub refuses this request permanently. */
  | { readonly kind: 'rejected'; readonly code: string; readonly detail: string }
  /** It is unknown if the hub applied the request; it did not for `busy`. */
  | {
      readonly kind: 'retry'
      readonly reason: RetryReason
      readonly detail: string
      readonly retryAfterMs: number
      /** The request never reached the hub. */
      readonly isLocal: boolean
    }

export interface RawAnswer {
  readonly status: number
  readonly text: string
  readonly retryAfter: string | undefined
  /** Time at the hub when it responded; null if the response has none. */
  readonly hubMs: number | null
}

const problemSchema = z.object({ code: z.string().max(100), detail: z.string().optional() })

const MAX_RETRY_AFTER_MS = 3_600_000
const MAX_DETAIL = 300

export function retry(
  reason: RetryReason,
  detail: string,
  { retryAfterMs = 0, isLocal = false }: { retryAfterMs?: number; isLocal?: boolean } = {},
): Failure {
  return { kind: 'retry', reason, detail, retryAfterMs, isLocal }
}

/** Parses a response; one that is not from a hub is a reason to retry. */
export function readOutcome<Schema extends z.ZodType>(
  { status, text, retryAfter }: RawAnswer,
  schema: Schema,
): RequestResult<z.output<Schema>> {
  const value = parseJson(text)
  if (status === 200) {
    const parsed = schema.safeParse(value)
    if (parsed.success) return { kind: 'ok', answer: parsed.data }
    return retry('bad_answer', 'the response does not have the format of a hub that this gateway supports')
  }
  const problem = problemSchema.safeParse(value)
  if (status === 429 || status >= 500) {
    const isBusy = status === 429 || problem.data?.code === 'busy'
    const words = `the hub answered with status ${status}`
    return retry(isBusy ? 'busy' : 'unavailable', words, { retryAfterMs: readRetryAfter(retryAfter) })
  }
  // a proxy may refuse large bodies with a body of its own
  if (status === 413) return { kind: 'too_large', detail: detailOf(problem.data, status) }
  if (!problem.success) return retry('bad_answer', `a server that is not a hub answered with status ${status}`)
  const detail = detailOf(problem.data, status)
  const { code } = problem.data
  if (status === 401 || status === 403 || code === 'unsupported_protocol') return { kind: 'refused', detail }
  if (status === 409) return readConflict(code, detail, value)
  if (status === 400) return { kind: 'rejected', code, detail }
  return retry('bad_answer', detail)
}

function readConflict(code: string, detail: string, value: unknown): RequestResult<never> {
  if (code === 'unknown_epoch' || code === 'ahead' || code === 'foreign_epoch') return { kind: code, detail }
  const conflict = cursorProblemSchema.safeParse(value)
  if (conflict.success) return { kind: 'cursor', cursors: conflict.data.cursors }
  return retry('bad_answer', detail)
}

function detailOf(problem: z.infer<typeof problemSchema> | undefined, status: number): string {
  if (problem === undefined) return `the hub answered with status ${status}`
  return `${problem.detail ?? 'no reason given'} (${problem.code})`.slice(0, MAX_DETAIL)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Reads the header of RFC 9110, 10.2.3, in seconds; a date would need a correct clock here. */
function readRetryAfter(value: string | undefined): number {
  if (value === undefined || !/^\d{1,9}$/.test(value)) return 0
  return Math.min(Number(value) * 1000, MAX_RETRY_AFTER_MS)
}
