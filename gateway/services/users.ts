import type { Caller } from '#domain/access.ts'
import type { Events } from '#gateway/events.ts'
import {
  ConflictError,
  describeError,
  ForbiddenError,
  NotFoundError,
  UnauthenticatedError,
  UnavailableError,
} from '#shared/errors.ts'
import { hashSecret, newApiKey, newUuid } from '#shared/ids.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { type Clock, startOfDayMs } from '#shared/time.ts'
import type { UserRole } from '#shared/wire/users.ts'
import type { Store } from '#store/store.ts'
import { ADMIN_KEY_REVEALED } from '#store/tables/secrets.ts'
import type { UserChange, UserRow } from '#store/tables/users.ts'
import type { NamedWrite } from '#store/writer/writes.ts'

/** User in memory; `caller` is its access. */
export interface User {
  row: UserRow
  caller: Caller
}

interface UserFields {
  name: string
  email: string | null
  role: UserRole
  allowedHardwareIds: string[] | null
  masksCodes?: boolean
}

interface UsersDeps {
  store: Pick<Store, 'read' | 'write'>
  events: Events
  clock: Clock
  log: Log
}

/** Name of the first admin. */
export const FIRST_ADMIN = 'Admin'
const FLUSH_MS = 10_000
const ADMIN_KEY_SHOWN: NamedWrite = { name: 'keepSecret', input: ADMIN_KEY_REVEALED }

/**
 * People and programs with a key. All are in memory, so that checking a key and counting its use need no disk access;
 * usage is stored every ten seconds and at the end.
 */
export class Users implements Component {
  readonly #deps: UsersDeps
  readonly #byId = new Map<string, User>()
  readonly #byKeyHash = new Map<string, User>()
  readonly #used = new Set<User>()
  /** Hashes of the keys used since the start. */
  readonly #usedKeys = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: UsersDeps) {
    this.#deps = deps
  }

  async start(): Promise<void> {
    for (const row of this.#deps.store.read.users()) this.#keep(row)
    this.#timer = setInterval(() => void this.flushUsage(), FLUSH_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.flushUsage()
  }

  /** Creates the first admin, unless there is one. `isRevealed`: the operator who started the gateway has the key. */
  async createFirstAdmin(apiKey: string, isRevealed: boolean): Promise<void> {
    const fields: UserFields = { name: FIRST_ADMIN, email: null, role: 'admin', allowedHardwareIds: null }
    const input = this.#newUser(fields, apiKey)
    const also = isRevealed ? ADMIN_KEY_SHOWN : undefined
    const row = await this.#deps.store.write('createFirstAdmin', input, undefined, also)
    if (row !== null) this.#keep(row)
  }

  /** Returns the user of a key. Throws `invalid_api_key`, `user_inactive`, and `metrics_only` if not for metrics. */
  authenticate(apiKey: string, isForMetrics = false): User {
    const user = this.authenticateHash(hashSecret(apiKey))
    if (!isForMetrics) refuseMetrics(user.row)
    return user
  }

  authenticateHash(keyHash: string): User {
    const user = this.#byKeyHash.get(keyHash)
    if (user === undefined) throw new UnauthenticatedError('invalid_api_key', 'this API key is not valid')
    if (!user.row.isActive) throw new UnauthenticatedError('user_inactive', 'the user of this API key is disabled')
    return user
  }

  /** Counts a request with the user's key. */
  countKeyUse(user: User): void {
    this.#usedKeys.add(user.row.keyHash)
    this.countRequest(user)
  }

  /** True if the key with this hash was used since the start. */
  isKeyUsed(keyHash: string): boolean {
    return this.#usedKeys.has(keyHash)
  }

  countRequest(user: User): void {
    const nowMs = this.#deps.clock.nowMs()
    const { usage } = user.row
    resetIfNewDay(usage, nowMs)
    usage.totalRequests++
    usage.requestsToday++
    usage.firstUsedAtMs ??= nowMs
    usage.lastUsedAtMs = nowMs
    this.#used.add(user)
  }

  /** Returns the users in the order of their creation, then by id. */
  all(): UserRow[] {
    return [...this.#byId.values()].map(({ row }) => this.#upToDate(row)).sort(byCreation)
  }

  /** Throws `user_not_found`. */
  require(userId: string): UserRow {
    const user = this.#byId.get(userId)
    if (user === undefined) throw new NotFoundError('user_not_found', `there is no user ${userId}`)
    return this.#upToDate(user.row)
  }

  /** Throws `user_not_found`, and `user_inactive` and `metrics_only` if sign-in as the user is not possible. */
  requireSignIn(userId: string): void {
    const row = this.require(userId)
    if (!row.isActive) throw new ConflictError('user_inactive', 'the user is disabled; enable it before sign-in')
    refuseMetrics(row)
  }

  /** Finds a user, active or not; undefined if unknown. */
  find(userId: string): User | undefined {
    return this.#byId.get(userId)
  }

  has(userId: string): boolean {
    return this.#byId.has(userId)
  }

  /** Returns the current access of the key with which a request came; undefined once it is revoked. */
  callerOfKey({ row }: User): Caller | undefined {
    const user = this.#byKeyHash.get(row.keyHash)
    return user && allowedCallerOf(user)
  }

  /** Returns the current access of the user; undefined if disabled or deleted, or limited to metrics. */
  callerOf(userId: string): Caller | undefined {
    const user = this.#byId.get(userId)
    return user && allowedCallerOf(user)
  }

  async create(fields: UserFields): Promise<{ row: UserRow; apiKey: string }> {
    const apiKey = newApiKey()
    const row = await this.#deps.store.write('createUser', this.#newUser(fields, apiKey))
    this.#keep(row)
    return { row, apiKey }
  }

  /** Changes a user; `also` is written in the same transaction, or rejects it. */
  async change(
    userId: string,
    fields: Omit<UserChange, 'userId' | 'nowMs' | 'keyHash'>,
    also?: NamedWrite,
  ): Promise<UserRow> {
    const change = { ...fields, userId, nowMs: this.#deps.clock.nowMs() }
    const row = await this.#deps.store.write('updateUser', change, undefined, also)
    this.#keep(row)
    if (fields.isActive === false || fields.role === 'metrics') this.#deps.events.emit('keyRevoked', { userId })
    else this.#deps.events.emit('scopeChanged', { userId })
    return this.require(userId)
  }

  /** Stores the hash of the user's PIN for shared tablets; null removes it. Throws `user_not_found`, `metrics_only`. */
  async setPin(userId: string, pinHash: string | null): Promise<void> {
    if (pinHash !== null) refuseMetrics(this.require(userId))
    const change = { userId, pinHash, nowMs: this.#deps.clock.nowMs() }
    this.#keep(await this.#deps.store.write('updateUser', change))
    this.#deps.events.emit('pinChanged', { userId })
  }

  /**
   * Replaces the key; when this returns, the old key and all sessions of the user except `keptSessionId` are revoked.
   * `isRevealed`: as in `createFirstAdmin`.
   */
  async rotateKey(
    userId: string,
    { apiKey = newApiKey(), isRevealed = false, keptSessionId = '' } = {},
  ): Promise<string> {
    const change = { userId, keyHash: hashSecret(apiKey), keptSessionId, nowMs: this.#deps.clock.nowMs() }
    const also = isRevealed ? ADMIN_KEY_SHOWN : undefined
    this.#keep(await this.#deps.store.write('updateUser', change, undefined, also))
    this.#deps.events.emit('keyRevoked', { userId, keptSessionId })
    return apiKey
  }

  async delete(userId: string): Promise<void> {
    await this.#deps.store.write('deleteUser', { userId })
    const user = this.#byId.get(userId)
    if (user !== undefined) {
      this.#byId.delete(userId)
      this.#byKeyHash.delete(user.row.keyHash)
      this.#used.delete(user)
    }
    this.#deps.events.emit('keyRevoked', { userId })
  }

  /** Stores the usage counted since the last time; a failed write is repeated with the next one. */
  async flushUsage(): Promise<void> {
    if (this.#used.size === 0) return
    const users = [...this.#used]
    this.#used.clear()
    try {
      const updates = users.map(({ row }) => ({ userId: row.userId, ...row.usage }))
      await this.#deps.store.write('recordUsage', updates)
    } catch (error) {
      for (const user of users) if (this.#byId.get(user.row.userId) === user) this.#used.add(user)
      // the store has already logged the fault
      if (!(error instanceof UnavailableError))
        this.#deps.log.warn({ reason: describeError(error) }, 'storing the usage of API keys failed; will retry')
    }
  }

  #newUser(fields: UserFields, apiKey: string) {
    return { ...fields, userId: newUuid(), keyHash: hashSecret(apiKey), nowMs: this.#deps.clock.nowMs() }
  }

  #keep(row: UserRow): void {
    const known = this.#byId.get(row.userId)
    const caller: Caller = {
      userId: row.userId,
      role: row.role === 'metrics' ? 'user' : row.role,
      allowedHardwareIds: row.allowedHardwareIds === null ? null : new Set(row.allowedHardwareIds),
      masksCodes: row.masksCodes,
    }
    // requests may have been counted since the row was read
    const user: User = { row: known === undefined ? row : { ...row, usage: known.row.usage }, caller }
    if (known !== undefined) {
      this.#byKeyHash.delete(known.row.keyHash)
      if (this.#used.delete(known)) this.#used.add(user)
    }
    this.#byId.set(row.userId, user)
    this.#byKeyHash.set(row.keyHash, user)
  }

  #upToDate(row: UserRow): UserRow {
    resetIfNewDay(row.usage, this.#deps.clock.nowMs())
    return row
  }
}

function allowedCallerOf({ row, caller }: User): Caller | undefined {
  return row.isActive && row.role !== 'metrics' ? caller : undefined
}

/** Throws `metrics_only`. */
function refuseMetrics({ role }: UserRow): void {
  if (role === 'metrics')
    throw new ForbiddenError('metrics_only', 'the key of this user is only valid for GET /metrics')
}

function resetIfNewDay(usage: UserRow['usage'], nowMs: number): void {
  const dayMs = startOfDayMs(nowMs)
  const countedMs = startOfDayMs(usage.lastResetMs)
  if (dayMs === countedMs) return
  // a clock that was set back does not start a new day: the count stays
  if (dayMs > countedMs) usage.requestsToday = 0
  usage.lastResetMs = dayMs
}

function byCreation(a: UserRow, b: UserRow): number {
  return a.createdAtMs - b.createdAtMs || (a.userId < b.userId ? -1 : 1)
}
