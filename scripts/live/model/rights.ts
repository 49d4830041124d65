/** Time within which the state of a lock is compared at least once. */
const UNSURE_MS = 15 * 60_000
const HOUR_MS = 3_600_000
const IDLE_MS = 600_000
/** The gateway looks once a second whether a time is over. */
const SOON_MS = 1_500
/** Code of a driver at a keypad. */
export const CODE = /(?<![\w.-])7305\d{3}(?![\w-])/
const ROLES = ['user', 'staff', 'admin'] as const

export type Role = (typeof ROLES)[number]

/** Rights of a user, a person or a tablet. */
export interface Rights {
  readonly role: Role
  /** Null for every device. */
  readonly scope: readonly string[] | null
  readonly masksCodes: boolean
}

export function sees({ role, scope }: Rights, hardwareId: string): boolean {
  return role === 'admin' || scope === null || scope.includes(hardwareId)
}

export function seesCodes({ role, masksCodes }: Rights): boolean {
  return role !== 'user' || !masksCodes
}

function asStaff(rights: Rights): Rights {
  return rights.role === 'admin' ? { ...rights, role: 'staff', scope: null } : rights
}

/** The lower role, and what both see. */
function both(one: Rights, other: Rights): Rights {
  const [a, b] = [one, other].map((each) => (each.role === 'admin' ? null : each.scope))
  const scope = a == null ? (b ?? null) : a.filter((id) => b == null || b.includes(id))
  const role = ROLES[Math.min(ROLES.indexOf(one.role), ROLES.indexOf(other.role))] ?? 'user'
  return { role, scope, masksCodes: !seesCodes(one) || !seesCodes(other) }
}

/** User of the gateway: a tablet's own, or a person with a PIN. */
export interface LiveUser {
  readonly userId: string
  readonly name: string
  rights: Rights
  /** Rights before a change that is not yet answered. */
  before: Rights | null
  isActive: boolean
  pin: string | null
}

/** Person on a tablet, until its idle time is over at some moment between two. */
interface Acting {
  readonly person: LiveUser
  readonly adminUntilMs: number
  firstEndMs: number
  lastEndMs: number
}

/** Who uses a tablet, and what it may therefore see. */
export class TabletRights {
  readonly user: LiveUser
  acting: Acting | null = null
  /** True after a request without a response: the PIN user is unknown. */
  isUnsure = false
  /** End of the rights of an admin of a new session. */
  newUntilMs = Number.NEGATIVE_INFINITY
  hasSession = false

  constructor(user: LiveUser) {
    this.user = user
  }

  begin(person: LiveUser, fromMs: number, toMs: number): void {
    const [firstEndMs, lastEndMs] = [fromMs + IDLE_MS, toMs + IDLE_MS]
    this.acting = { person, firstEndMs, lastEndMs, adminUntilMs: toMs + IDLE_MS }
  }

  acted(fromMs: number, toMs: number): void {
    if (this.acting === null || fromMs > this.acting.lastEndMs) return
    // after the first possible end it may have been too late
    if (fromMs < this.acting.firstEndMs) this.acting.firstEndMs = fromMs + IDLE_MS
    this.acting.lastEndMs = toMs + IDLE_MS
  }

  /** Who acts now; undefined while it is not known. */
  actorAt(nowMs: number): LiveUser | null | undefined {
    if (this.isUnsure) return undefined
    if (this.acting === null || nowMs > this.acting.lastEndMs) return null
    return nowMs < this.acting.firstEndMs ? this.acting.person : undefined
  }

  /** All rights that it may have at the moment: several while a change is under way. A request sees only one. */
  possibleAt(nowMs: number, forMs = SOON_MS): Rights[] {
    const { acting, user } = this
    const holds = (untilMs: number) => (nowMs < untilMs ? [true] : nowMs < untilMs + forMs ? [true, false] : [false])
    const actors: (Acting | null)[] = []
    if (acting === null || this.isUnsure || nowMs >= acting.firstEndMs) actors.push(null)
    if (acting !== null && holds(acting.lastEndMs).includes(true)) actors.push(acting)
    return actors.flatMap((actor) => {
      const byPin = actor?.person.rights.role === 'admin' ? holds(actor.adminUntilMs) : [false]
      const isAdmin = new Set(holds(this.newUntilMs).flatMap((isNew) => byPin.map((one) => isNew || one)))
      const owns = variants(user).flatMap((own) => [...isAdmin].map((one) => (one ? own : asStaff(own))))
      return actor === null ? owns : owns.flatMap((own) => variants(actor.person).map((person) => both(own, person)))
    })
  }
}

function variants({ rights, before }: LiveUser): Rights[] {
  return before === null ? [rights] : [before, rights]
}

interface WrongPins {
  count: number
  lockedUntilMs: number
}

/** Truth about the PIN of one person. Neither its locks nor its wrong PINs grow older while the gateway is off. */
export class PinTruth {
  /** Wrong PINs that count, with the time by which a kill may have made each younger. */
  #wrongs: { readonly atMs: number; readonly lateMs: number }[] = []
  readonly #onTablets = new Map<string, WrongPins>()
  /** The lock on all tablets ends between these times. */
  lock = { sinceMs: 0, firstEndMs: Number.NEGATIVE_INFINITY, lastEndMs: Number.NEGATIVE_INFINITY }
  locks = 0
  /** Time at which its alerts were last counted: not while the clock is wrong. */
  countedAtMs = Number.NEGATIVE_INFINITY
  /** Time until which nothing is known, after a try without a response. */
  unsureUntilMs = Number.NEGATIVE_INFINITY

  /** End of the lock on one tablet. */
  lockedOnUntilMs(tablet: string): number {
    return this.#onTablets.get(tablet)?.lockedUntilMs ?? Number.NEGATIVE_INFINITY
  }

  forgetTablet(tablet: string): void {
    this.#onTablets.delete(tablet)
  }

  unsure(nowMs: number): void {
    this.unsureUntilMs = nowMs + 3 * HOUR_MS
  }

  /** It was off for some time, and has lost at most `lostMs` of the time before. */
  restarted(nowMs: number, offMs: number, lostMs: number): void {
    this.#onTablets.clear()
    this.#wrongs = this.#wrongs.map(({ atMs, lateMs }) => ({ atMs: atMs + offMs, lateMs: lateMs + lostMs }))
    const { sinceMs, firstEndMs, lastEndMs } = this.lock
    if (lastEndMs + offMs > nowMs)
      this.lock = { sinceMs, firstEndMs: firstEndMs + offMs, lastEndMs: lastEndMs + offMs + lostMs }
    // a lock that has just ended may last a little longer, with an alert of its own, which the next check counts
    else if (lastEndMs + offMs + lostMs > nowMs) this.unsureUntilMs = Math.max(this.unsureUntilMs, nowMs + UNSURE_MS)
  }

  wrong(tablet: string, nowMs: number): void {
    const tries = this.#onTablets.get(tablet) ?? { count: 0, lockedUntilMs: Number.NEGATIVE_INFINITY }
    this.#onTablets.set(tablet, tries)
    if (++tries.count >= 5) Object.assign(tries, { count: 0, lockedUntilMs: nowMs + 300_000 })
    this.#wrongs = this.#wrongs.filter(({ atMs, lateMs }) => nowMs - atMs - lateMs < HOUR_MS + SOON_MS)
    this.#wrongs.push({ atMs: nowMs, lateMs: 0 })
    if (this.#wrongs.length < 20) return
    const sure = this.#wrongs.filter(({ atMs }) => nowMs - atMs < HOUR_MS - SOON_MS)
    if (sure.length < 20) this.unsure(nowMs)
    this.#wrongs = []
    this.lock = { sinceMs: nowMs, firstEndMs: nowMs + HOUR_MS, lastEndMs: nowMs + HOUR_MS }
    this.locks += 1
  }
}
