import { randomBytes, randomInt } from 'node:crypto'
import type { Events } from '#gateway/events.ts'
import { addressOwner } from '#shared/budgets/address.ts'
import { ForbiddenError, NotFoundError, RateLimitedError, UnauthenticatedError } from '#shared/errors.ts'
import { hashesEqual, hashSecret, newUuid } from '#shared/ids.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { Users } from '../users.ts'
import { type BothClocks, isPast, type Moment, momentIn } from './deadline.ts'
import type { Pairing } from './pairing-codes.ts'

interface AccessRequestsDeps {
  store: Pick<Store, 'write'>
  users: Pick<Users, 'requireSignIn' | 'callerOf'>
  events: Events
  clock: BothClocks
}

/** Request of a tablet for access, which an admin must allow. */
export interface AccessRequest {
  readonly requestId: string
  readonly name: string
  /** Four digits that both screens show. */
  readonly check: string
  readonly address: string
  readonly createdAtMs: number
  readonly expires: Moment
  /** User as whom it may sign in; null until an admin has allowed it. */
  allowedUserId: string | null
}

const VALID_MS = 10 * MINUTE_MS
const OPEN_PER_ADDRESS = 3
const OPEN_MAX = 20

/** Open requests of tablets without a code; in memory only. */
export class AccessRequests {
  readonly #deps: AccessRequestsDeps
  readonly #byId = new Map<string, AccessRequest & { secretHash: string }>()

  constructor(deps: AccessRequestsDeps) {
    this.#deps = deps
    deps.events.on('keyRevoked', ({ userId }) => {
      if (deps.users.callerOf(userId) !== undefined) return
      for (const { requestId, allowedUserId } of this.#byId.values())
        if (allowedUserId === userId) this.#byId.delete(requestId)
    })
  }

  get size(): number {
    this.#forgetPast()
    return this.#byId.size
  }

  /** Returns the requests in the order of their creation. */
  all(): readonly AccessRequest[] {
    this.#forgetPast()
    return [...this.#byId.values()]
  }

  /** Throws `too_many_requests`. */
  async create(name: string, address: string): Promise<{ request: AccessRequest; secret: string }> {
    const { store, clock } = this.#deps
    const owner = addressOwner(address)
    const waiting = this.all()
    const ofAddress = waiting.filter((one) => addressOwner(one.address) === owner)
    if (ofAddress.length >= OPEN_PER_ADDRESS) throw this.#tooMany(ofAddress[0])
    if (waiting.length >= OPEN_MAX) throw this.#tooMany(waiting[0])
    const secret = randomBytes(32).toString('base64url')
    const request = {
      requestId: newUuid(),
      name,
      address,
      allowedUserId: null,
      check: String(randomInt(10_000)).padStart(4, '0'),
      createdAtMs: clock.nowMs(),
      expires: momentIn(clock, VALID_MS),
      secretHash: hashSecret(secret),
    }
    // reserves its slot before anything is awaited
    this.#byId.set(request.requestId, request)
    try {
      const target = request.requestId
      await store.write('recordAuditOnly', { action: 'access_request.created', target, after: { name } })
    } catch (error) {
      this.#byId.delete(request.requestId)
      throw error
    }
    return { request, secret }
  }

  /** Throws `request_not_found`, `user_not_found`, `user_inactive` and `metrics_only`. */
  async allow(requestId: string, userId: string): Promise<void> {
    const { store, users } = this.#deps
    this.#require(requestId)
    users.requireSignIn(userId)
    const after = { user_id: userId }
    await store.write('recordAuditOnly', { action: 'access_request.allowed', target: requestId, after })
    if (users.callerOf(userId) !== undefined) this.#require(requestId).allowedUserId = userId
  }

  /** Throws `request_not_found`. */
  async delete(requestId: string): Promise<void> {
    this.#require(requestId)
    this.#byId.delete(requestId)
    await this.#deps.store.write('recordAuditOnly', {
      action: 'access_request.deleted',
      target: requestId,
      after: null,
    })
  }

  /** Redeems the request, once. Throws `invalid_code`, and `not_allowed_yet` until an admin has allowed it. */
  take(requestId: string, secret: string): Pairing {
    this.#forgetPast()
    const request = this.#byId.get(requestId)
    if (request === undefined || !hashesEqual(hashSecret(secret), request.secretHash))
      throw new UnauthenticatedError('invalid_code', 'this request for access is not valid')
    const { name, allowedUserId } = request
    if (allowedUserId === null)
      throw new ForbiddenError('not_allowed_yet', 'no admin has allowed this request for access yet')
    this.#byId.delete(requestId)
    return { userId: allowedUserId, name }
  }

  #require(requestId: string): AccessRequest {
    this.#forgetPast()
    const request = this.#byId.get(requestId)
    if (request !== undefined) return request
    throw new NotFoundError('request_not_found', `there is no request for access ${requestId}`)
  }

  #forgetPast(): void {
    for (const { requestId, expires } of this.#byId.values())
      if (isPast(this.#deps.clock, expires)) this.#byId.delete(requestId)
  }

  #tooMany(oldest: AccessRequest | undefined): RateLimitedError {
    const waitMs = (oldest?.expires.monotonicMs ?? 0) - this.#deps.clock.monotonicMs()
    const retryAfterS = Math.max(1, Math.ceil(waitMs / 1000))
    const message = 'too many requests for access wait for an admin'
    return new RateLimitedError(message, retryAfterS, 'too_many_requests')
  }
}
