/** Kind of an error in the caller's terms; each has one HTTP status (`shared/http/problem.ts`). */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'precondition_failed'
  | 'precondition_required'
  | 'request_timeout'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'rate_limited'
  | 'headers_too_large'
  | 'unavailable'

/** Invalid field, parameter or header of a request. */
export interface FieldError {
  in: 'query' | 'body' | 'path' | 'header'
  name: string
  code: string
  detail: string
}

/** Fault in one line of a file; the first line is 1. */
export interface LineError {
  line: number
  code: string
  message: string
  /** Column of the fault; absent if it is not in a single one. */
  column?: string
  /** Text found there, cut. */
  value?: string
}

export interface AppErrorOptions {
  errors?: FieldError[] | LineError[]
  retryAfterS?: number
  cause?: unknown
}

/** Error that the caller may read: `code` is stable, `message` is for people, the private reason belongs in `cause`. */
export class AppError extends Error {
  readonly kind: ErrorKind
  readonly code: string
  readonly errors: FieldError[] | LineError[] | undefined
  readonly retryAfterS: number | undefined

  constructor(kind: ErrorKind, code: string, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.name = 'AppError'
    this.kind = kind
    this.code = code
    this.errors = options.errors
    this.retryAfterS = options.retryAfterS
  }
}

export class InvalidRequestError extends AppError {
  constructor(code: string, message: string, errors?: FieldError[] | LineError[]) {
    super('invalid', code, message, errors === undefined ? {} : { errors })
  }
}

export class UnauthenticatedError extends AppError {
  constructor(
    code:
      | 'missing_api_key'
      | 'invalid_api_key'
      | 'invalid_session'
      | 'invalid_code'
      | 'user_inactive'
      | 'invalid_token',
    message: string,
  ) {
    super('unauthenticated', code, message)
  }
}

export class ForbiddenError extends AppError {
  constructor(code: string, message: string) {
    super('forbidden', code, message)
  }
}

export class NotFoundError extends AppError {
  constructor(code: string, message: string) {
    super('not_found', code, message)
  }
}

export class ConflictError extends AppError {
  constructor(code: string, message: string) {
    super('conflict', code, message)
  }
}

export class RateLimitedError extends AppError {
  constructor(message: string, retryAfterS: number, code = 'rate_limited') {
    super('rate_limited', code, message, { retryAfterS })
  }
}

/** The store cannot write now (disk full, read-only, I/O error, shutdown); a retry later may succeed. */
export class UnavailableError extends AppError {
  constructor(message: string, cause?: unknown) {
    super('unavailable', 'store_unavailable', message, { retryAfterS: 5, cause })
  }
}

/** A required disk page is damaged; other requests may succeed. */
export class DamagedError extends UnavailableError {
  override readonly code = 'store_damaged'

  constructor(cause?: unknown) {
    super(
      'required data is damaged on the disk of the gateway: GET /health shows details to admins, and cartbarn ' +
        'repair repairs it',
      cause,
    )
  }
}

/** Unusable setting; the message is for the operator who set it. */
export class ConfigError extends Error {}

/** Exit code for an unusable setting: a restart would not help. Source: EX_CONFIG of sysexits.h. */
export const CONFIG_EXIT_CODE = 78

/** Fields of an `AppError` that cross a thread boundary. */
export interface ErrorMessage {
  kind: ErrorKind
  code: string
  message: string
}

/** Describes any thrown value; never throws. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Path of a value within a body in program notation: `features[3].geometry.coordinates[0][5]`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path
    .map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i === 0 ? '' : '.'}${String(step)}`))
    .join('')
}
