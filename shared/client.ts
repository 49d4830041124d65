import type { AnswerOf, InputOf, OperationName, QueryValue } from '#shared/wire/operation-types.ts'
import type { FieldError, LineError } from './errors.ts'

export interface ClientOptions {
  /** Address of the gateway; empty in a page that the gateway serves. */
  url: string
  /** Omitted for operations that need none. */
  apiKey?: string | undefined
  /** Aborts every request of this client. */
  signal?: AbortSignal | undefined
}

interface CallOptions {
  signal?: AbortSignal
  /** Additional headers, such as `Idempotency-Key`. */
  headers?: Readonly<Record<string, string>>
}

type Call<Name extends OperationName> = InputOf<Name> & CallOptions

/** Call arguments, optional if the operation requires none. */
type CallArguments<Name extends OperationName> =
  CallOptions extends Call<Name> ? [call?: Call<Name>] : [call: Call<Name>]

interface AnyCall extends CallOptions {
  path?: Readonly<Record<string, string | number>>
  query?: Readonly<Record<string, QueryValue>>
  body?: unknown
}

/** Error response of the gateway (status not 2xx). A request without a response fails with the error of `fetch`. */
export class ApiError extends Error {
  readonly status: number
  /** Stable code for programs; `unexpected_answer` if the response did not come from a gateway. */
  readonly code: string
  readonly detail: string
  readonly errors: readonly FieldError[]
  readonly lines: readonly LineError[]
  readonly requestId: string | undefined
  readonly retryAfterS: number | undefined

  constructor(request: string, response: Response, text: string) {
    const problem = readProblem(text)
    const code = problem.code ?? 'unexpected_answer'
    const detail = problem.detail ?? text.slice(0, 300)
    super(`${request}: ${response.status} ${code}: ${detail}`)
    this.name = 'ApiError'
    this.status = response.status
    this.code = code
    this.detail = detail
    this.errors = (problem.errors ?? []).filter((one) => 'name' in one)
    this.lines = (problem.errors ?? []).filter((one) => 'line' in one)
    this.requestId = response.headers.get('x-request-id') ?? undefined
    const retryAfter = response.headers.get('retry-after')
    this.retryAfterS = retryAfter === null ? undefined : Number(retryAfter)
  }
}

/**
 * API client of a gateway, typed by the schemas that the gateway validates with: `api.call('GET /devices/{id}', { path:
 * { id } })`. Depends only on `fetch`, so it runs in browsers and in Node. Does not retry.
 */
export class ApiClient {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** Returns the response of an operation. Throws `ApiError` if the gateway rejects the request. */
  async call<Name extends OperationName>(name: Name, ...[call]: CallArguments<Name>): Promise<AnswerOf<Name>> {
    const response = await this.#send(name, call ?? {})
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
    // tests check every response against the schema of its operation: gateway/testing/documented-answers.ts
    return (isJson ? response.json() : response.text()) as Promise<AnswerOf<Name>>
  }

  /** Returns the response as a stream, to be read from `body`: for histories of any length and their files. */
  download<Name extends OperationName>(name: Name, ...[call]: CallArguments<Name>): Promise<Response> {
    return this.#send(name, call ?? {})
  }

  /**
   * Opens a WebSocket to `/realtime`. The key is its first message, as URLs end up in logs and histories; without one
   * the session cookie applies. Signed in once `connected` arrives; close code 4401 means an invalid key or session.
   */
  openRealtime(): WebSocket {
    const { url, apiKey } = this.#options
    const address = `${url.replace(/^http/, 'ws')}/realtime`
    if (apiKey === undefined) return new WebSocket(address)
    const socket = new WebSocket(`${address}?authenticate=message`)
    socket.addEventListener('open', () => socket.send(JSON.stringify({ type: 'authenticate', apiKey })))
    return socket
  }

  async #send(name: OperationName, { path = {}, query = {}, body, headers, signal }: AnyCall): Promise<Response> {
    const [method = 'GET', template = '/'] = name.split(' ')
    const target = `${fillIn(template, path)}${toSearch(query)}`
    const { url, apiKey } = this.#options
    const response = await fetch(`${url}${target}`, {
      method,
      headers: {
        ...(apiKey === undefined ? {} : { 'X-API-Key': apiKey }),
        ...(body === undefined || body instanceof Blob ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      // a Blob carries its own content type
      ...(body === undefined ? {} : { body: body instanceof Blob ? body : JSON.stringify(body) }),
      ...eitherSignal(signal, this.#options.signal),
    })
    if (response.ok) return response
    throw new ApiError(`${method} ${target}`, response, await response.text())
  }
}

function fillIn(template: string, path: Readonly<Record<string, string | number>>): string {
  return template.replaceAll(/\{(.+?)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''))
}

function toSearch(query: Readonly<Record<string, QueryValue>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value].flat()) if (item !== undefined) search.append(name, String(item))
  }
  return search.size === 0 ? '' : `?${search}`
}

function eitherSignal(...given: (AbortSignal | undefined)[]): { signal?: AbortSignal } {
  const signals = given.filter((signal) => signal !== undefined)
  return signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }
}

interface Problem {
  code?: string
  detail?: string
  errors?: (FieldError | LineError)[]
}

/** Reads the error body of a gateway; empty if another server responded, such as a proxy. */
function readProblem(text: string): Problem {
  try {
    const value: unknown = JSON.parse(text)
    const isProblem = typeof value === 'object' && value !== null && 'code' in value && 'detail' in value
    // a body with a code and a detail comes from the gateway; problemSchema defines the rest
    return isProblem ? (value as Problem) : {}
  } catch {
    return {}
  }
}
