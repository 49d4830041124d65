import type { AnswerOf, InputOf, OperationName, QueryValue } from '#shared/wire/operation-types.ts'
import type { FieldError, LineError } from './errors.ts'

export interface ClientOptions {
  /** Address of the gateway; empty in a page that comes from it. */
  url: string
  /** Left out where an operation needs none. */
  apiKey?: string | undefined
  /** Ends every request of this client. */
  signal?: AbortSignal | undefined
}

/** What every call may have besides what its operation takes. */
interface CallOptions {
  signal?: AbortSignal
  /** Such as `Idempotency-Key`. */
  headers?: Readonly<Record<string, string>>
}

type Call<Name extends OperationName> = InputOf<Name> & CallOptions

/** A call, which may be left out when the operation needs nothing. */
type CallArguments<Name extends OperationName> =
  CallOptions extends Call<Name> ? [call?: Call<Name>] : [call: Call<Name>]

/** A call as the client handles it, whatever the operation. */
interface AnyCall extends CallOptions {
  path?: Readonly<Record<string, string | number>>
  query?: Readonly<Record<string, QueryValue>>
  body?: unknown
}

/** The gateway refused a request: an answer other than 2xx. That there was no answer at all is `fetch`'s own error. */
export class ApiError extends Error {
  readonly status: number
  /** Stable, for programs; `unexpected_answer` when it was no gateway that answered. */
  readonly code: string
  readonly detail: string
  /** Fields and parameters that are wrong. */
  readonly errors: readonly FieldError[]
  /** Lines of a file that are wrong. */
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
 * The API of a gateway, typed by the schemas that validate there: `api.call('GET /devices/{id}', { path: { id } })`.
 * Needs nothing but `fetch`, so it runs in browsers and in Node. Tries nothing twice.
 */
export class ApiClient {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** The answer of an operation. Throws `ApiError` when the gateway refuses. */
  async call<Name extends OperationName>(name: Name, ...[call]: CallArguments<Name>): Promise<AnswerOf<Name>> {
    const response = await this.#send(name, call ?? {})
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
    // every answer in a test is held to the schema of its operation: gateway/testing/documented-answers.ts
    return (isJson ? response.json() : response.text()) as Promise<AnswerOf<Name>>
  }

  /** The answer as it comes in, to be read from `body`: for histories of any length, and for files of them. */
  download<Name extends OperationName>(name: Name, ...[call]: CallArguments<Name>): Promise<Response> {
    return this.#send(name, call ?? {})
  }

  /**
   * A WebSocket to `/realtime`, as the browser makes it, which sends the key as its first message: in an address it
   * would end in logs and histories. Without a key it is the cookie of a browser that is signed in. It is logged in
   * when `connected` comes; close code 4401 says that the key or session is not valid.
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
      // a file says itself of what type it is
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

/** What a gateway says of an error; nothing where something else answered, such as a proxy. */
function readProblem(text: string): Problem {
  try {
    const value: unknown = JSON.parse(text)
    const isProblem = typeof value === 'object' && value !== null && 'code' in value && 'detail' in value
    // a body with a code and a detail is the gateway's, and problemSchema says what is in it
    return isProblem ? (value as Problem) : {}
  } catch {
    return {}
  }
}
