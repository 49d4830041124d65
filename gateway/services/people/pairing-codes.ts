import type { Events } from '#gateway/events.ts'
import { hashSecret } from '#shared/ids.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { Users } from '../users.ts'
import { newCode, readCode } from './codes.ts'
import { type BothClocks, isPast, type Moment, momentIn } from './deadline.ts'

interface PairingCodesDeps {
  store: Pick<Store, 'write'>
  users: Pick<Users, 'requireSignIn' | 'callerOf'>
  events: Events
  clock: BothClocks
}

export interface Pairing {
  userId: string
  name: string
  /** True if the session will set up the gateway. */
  isSetUp?: boolean
}

const VALID_MS = 5 * MINUTE_MS
/** Limit of valid codes; beyond it the oldest is dropped. */
const CODES_MAX = 1_000

/** Single-use codes that sign a tablet in. In memory, as hashes: they last five minutes, so a restart loses little. */
export class PairingCodes {
  readonly #deps: PairingCodesDeps
  readonly #byHash = new Map<string, Pairing & { expires: Moment }>()

  constructor(deps: PairingCodesDeps) {
    this.#deps = deps
    deps.events.on('keyRevoked', ({ userId }) => {
      // a user whose key was rotated may still sign in
      if (deps.users.callerOf(userId) === undefined) this.#voidCodesOf(userId)
    })
  }

  /** Throws `user_not_found`, `user_inactive` and `metrics_only`. */
  async create({ userId, name }: Pairing): Promise<{ code: string; expiresAtMs: number }> {
    const { store, users, clock } = this.#deps
    users.requireSignIn(userId)
    await store.write('recordAuditOnly', { action: 'pairing_code.created', target: userId, after: { name } })
    this.#forgetPast()
    const code = newCode()
    const expires = momentIn(clock, VALID_MS)
    this.#byHash.set(hashSecret(code), { userId, name, expires })
    return { code, expiresAtMs: expires.atMs }
  }

  /** Redeems a code, once; undefined if it is not valid. */
  take(text: string): Pairing | undefined {
    const code = readCode(text)
    if (code === undefined) return undefined
    const hash = hashSecret(code)
    const pairing = this.#byHash.get(hash)
    this.#byHash.delete(hash)
    return pairing === undefined || isPast(this.#deps.clock, pairing.expires) ? undefined : pairing
  }

  #voidCodesOf(userId: string): void {
    for (const [hash, pairing] of this.#byHash) if (pairing.userId === userId) this.#byHash.delete(hash)
  }

  #forgetPast(): void {
    for (const [hash, { expires }] of this.#byHash)
      if (isPast(this.#deps.clock, expires) || this.#byHash.size >= CODES_MAX) this.#byHash.delete(hash)
  }
}
