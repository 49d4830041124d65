import assert from 'node:assert/strict'
import { DocumentedAnswers } from '#shared/testing/documented-answers.ts'
import { onceARun } from '#shared/testing/once-a-run.ts'
import type { HubRole } from '#shared/wire/hub-users.ts'
import type { TestHub } from './open-hub.ts'

/** The key of the first admin of a `TestHub`. */
export const ADMIN_KEY = 'hub_admin_key_for_tests_0123456789'

export interface Answer {
  status: number
  headers: Headers
  // tests look into answers of every shape
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any
}

interface RequestOptions {
  /** Null sends no key. */
  key?: string | null
  body?: unknown
  headers?: Record<string, string>
}

/** Callers that an endpoint must distinguish. */
export type Who =
  | 'nobody'
  | 'a bad key'
  | 'a disabled user'
  | 'out of scope'
  | 'no scope'
  | 'a viewer'
  | 'an operator'
  | 'admin'

/** Client for the API of users and programs. Every response is checked against the OpenAPI document. */
export class People {
  readonly #hub: TestHub
  #documented: Promise<DocumentedAnswers> | undefined
  #keys: Record<Who, string | null> | undefined

  constructor(hub: TestHub) {
    this.#hub = hub
  }

  /** Keys of `callers`, once they are created. */
  get keys(): Record<Who, string | null> {
    if (this.#keys === undefined) throw new Error('there are no callers')
    return this.#keys
  }

  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    this.#documented ??= this.#readDocument()
    const documented = await this.#documented
    const answer = await this.#send(method, path, options)
    documented.check(method, path, answer)
    return answer
  }

  /** Returns the body of the response to a GET. */
  async get(path: string, options: RequestOptions = {}): Promise<Answer['body']> {
    return (await this.request('GET', path, options)).body
  }

  /** Returns the status and the error code of a response. */
  async refusal(method: string, path: string, options: RequestOptions = {}): Promise<[status: number, code: string]> {
    const { status, body } = await this.request(method, path, options)
    return [status, body.code]
  }

  /** Checks that one of `callers` is refused all of these requests. */
  async checkRefused([who, status, code]: Refusal, ...requests: CheckedRequest[]): Promise<void> {
    for (const [method, path, body] of requests) {
      const refusal = await this.refusal(method, path, { key: this.keys[who], body })
      assert.deepEqual(refusal, [status, code], `${who}: ${method} ${path}`)
    }
  }

  async #readDocument(): Promise<DocumentedAnswers> {
    const text = await onceARun('hub-openapi.json', async () =>
      (await this.#hub.hub.app.request('/openapi.json')).text(),
    )
    return new DocumentedAnswers(JSON.parse(String(text)))
  }

  async createUser(fields: { role?: HubRole; site_ids?: string[] | null; name?: string; mask_codes?: boolean }) {
    const { body } = await this.request('POST', '/users', { body: { name: 'Somebody', ...fields } })
    return { userId: String(body.user.user_id), key: String(body.api_key) }
  }

  /** Creates a user of each kind; those in scope see `siteId`. Returns each one's key. */
  async callers(siteId: string): Promise<Record<Who, string | null>> {
    const disabled = await this.createUser({ site_ids: [siteId] })
    await this.request('PATCH', `/users/${disabled.userId}`, { body: { is_active: false } })
    const keyOf = async (role: HubRole, siteIds: string[]) => (await this.createUser({ role, site_ids: siteIds })).key
    this.#keys = {
      nobody: null,
      'a bad key': 'cbh_this_key_opens_nothing_at_all',
      'a disabled user': disabled.key,
      'out of scope': await keyOf('operator', ['some-other-site']),
      'no scope': await keyOf('operator', []),
      'a viewer': await keyOf('viewer', [siteId]),
      'an operator': await keyOf('operator', [siteId]),
      admin: ADMIN_KEY,
    }
    return this.#keys
  }

  async #send(method: string, path: string, { key = ADMIN_KEY, body, headers = {} }: RequestOptions): Promise<Answer> {
    const init: RequestInit = { method, headers: { ...headers } }
    if (key !== null) init.headers = { 'x-api-key': key, ...init.headers }
    if (body !== undefined) {
      init.headers = { 'content-type': 'application/json', ...init.headers }
      init.body = typeof body === 'string' ? body : JSON.stringify(body)
    }
    const response = await this.#hub.hub.app.request(path, init)
    const text = await response.text()
    const isJson = /[/+]json\s*(;|$)/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : text }
  }
}

/** Returns one field of each of the rows of a response. */
export function valuesOf(rows: Record<string, unknown>[], name: string): unknown[] {
  return rows.map((row) => row[name])
}

type CheckedRequest = readonly [method: string, path: string, body?: unknown]

type Refusal = [who: Who, status: number, code: string]

const NOT_LET_IN: Refusal[] = [
  ['nobody', 401, 'missing_api_key'],
  ['a bad key', 401, 'invalid_api_key'],
  ['a disabled user', 401, 'user_inactive'],
]

/** Callers refused by the endpoints of one site. */
export const REFUSED_OUTSIDE_SCOPE: Refusal[] = [
  ...NOT_LET_IN,
  ['out of scope', 403, 'site_forbidden'],
  ['no scope', 403, 'site_forbidden'],
]

/** Callers refused by endpoints for admins. */
export const REFUSED_AS_NO_ADMIN: Refusal[] = [
  ...NOT_LET_IN,
  ['a viewer', 403, 'admin_required'],
  ['an operator', 403, 'admin_required'],
  ['no scope', 403, 'admin_required'],
]

/** Callers refused by endpoints that create requests to a site. */
export const REFUSED_AS_NO_OPERATOR: Refusal[] = [...REFUSED_OUTSIDE_SCOPE, ['a viewer', 403, 'operator_required']]

/** Callers refused by endpoints for every key. */
export const REFUSED_WITHOUT_KEY: Refusal[] = NOT_LET_IN
