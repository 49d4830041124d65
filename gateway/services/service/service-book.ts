import { type Caller, visibleHardwareIds } from '#domain/access.ts'
import { GATEWAY } from '#domain/origin.ts'
import type { Events } from '#gateway/events.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import {
  byUrgency,
  type DueService,
  dueServiceOf,
  type MeterReading,
  type ServiceIntervals,
} from '#shared/carts/service-due.ts'
import { ConflictError, describeError, ForbiddenError, InvalidRequestError, NotFoundError } from '#shared/errors.ts'
import { newUuid } from '#shared/ids.ts'
import type { Component } from '#shared/lifecycle.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import {
  PLANS_MAX,
  type ServiceEntry,
  type ServiceEntryPatch,
  type ServicePlan,
  type ServicePlanPatch,
  SOON_PERCENT,
  type StoredPlan,
} from '#shared/wire/service/service.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { EntryQuery, SavedEntry } from '#store/service/service.ts'
import type { AuditContext } from '../audit-context.ts'
import type { Cart, CartNotes, MeterSetting } from '../cart.ts'
import type { Carts } from '../carts/carts.ts'
import { seesCart, type VisibleCarts } from '../carts/visible-carts.ts'
import type { Site } from '../site.ts'
import { type Meter, Meters, type MetersDeps } from './meters.ts'

interface ServiceBookDeps extends MetersDeps {
  carts: Pick<Carts, 'all' | 'find' | 'of'>
  visibleCarts: Pick<VisibleCarts, 'require' | 'all'>
  site: Pick<Site, 'settings' | 'calendar' | 'timeZone'>
  /** True once the gateway may act by its clock. */
  clockConfirmation: { readonly isConfirmed: boolean }
  origins: Pick<AuditContext, 'run'>
  events: Events
}

type ServicePerson = NonNullable<ServiceEntry['by']>

export interface DueOfCart extends DueService {
  cart: string
  plan: StoredPlan
  lastDoneAt: string | null
}

export type DuePlan = Pick<ServicePlan, 'plan_id' | 'name'>

/** Time by which a service may be ahead of the clock. */
const AHEAD_MS = 5 * MINUTE_MS
const RETRY_MS = 30_000
const NO_METER: MeterReading = { hours: 0, km: 0, rounds: 0 }
const NONE: readonly DuePlan[] = []

/**
 * The service book: entries, plans and meters of carts. Services are judged at each opening, and after each change of
 * an entry, a plan or a meter; the alert rule reads what was found due.
 */
export class ServiceBook implements Component {
  readonly #deps: ServiceBookDeps
  readonly #meters: Meters
  readonly #turns = new SerialQueue()
  /** Plans due by cart, as last judged; null after a start. */
  #due: ReadonlyMap<string, readonly DuePlan[]> | null = null
  #isRunning = false
  #acting: Promise<void> | null = null
  #actsFromMs = Number.NEGATIVE_INFINITY

  constructor(deps: ServiceBookDeps) {
    this.#deps = deps
    this.#meters = new Meters(deps)
  }

  load(): void {
    this.#meters.load()
    this.#deps.events.on('cartsEvaluated', ({ nowMs }) => this.#tick(nowMs))
  }

  async start(): Promise<void> {
    this.#isRunning = true
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    await this.#acting
    await this.#turns.idle()
  }

  /** Returns the plans that are due for a cart; null while unknown after a start. */
  dueOf(cart: string): readonly DuePlan[] | null {
    return this.#due && (this.#due.get(cart) ?? NONE)
  }

  /** Notes a change after which services are judged again. */
  changed(): void {
    this.#meters.judgeAgain()
  }

  async meterOf(cart: Cart, atMs?: number): Promise<Meter> {
    const meter = (await this.#meters.readings([cart], atMs)).get(cart.key)
    return meter ?? { ...NO_METER, counted: NO_METER, sinceMs: null }
  }

  /** Returns the setting with which a meter shows these values now. */
  async meterSetting(cart: Cart, set: ServiceIntervals): Promise<MeterSetting> {
    const { counted, ...shown } = await this.meterOf(cart)
    const { hours = shown.hours, km = shown.km, rounds = shown.rounds } = set
    return { set: { hours, km, rounds }, counted }
  }

  list(caller: Caller, query: Omit<EntryQuery, 'visible'>, asker: JobOptions): Promise<ServiceEntry[]> {
    const { visibleCarts, store } = this.#deps
    const seesAll = visibleHardwareIds(caller) === undefined
    const visible = seesAll ? undefined : visibleCarts.all(caller).map(({ key }) => key)
    return store.readers.run('serviceEntries', { ...query, visible }, asker)
  }

  /** Throws `cart_not_found`, `cart_forbidden`, `plan_not_found`, and `invalid_field` for a time to come. */
  async create(
    callerNow: () => Caller,
    body: ServiceEntryPatch & { cart: string; what: string },
    by: ServicePerson,
  ): Promise<ServiceEntry> {
    const { clock, visibleCarts } = this.#deps
    const nowMs = clock.nowMs()
    const entry: ServiceEntry = {
      ...this.#entryAt(nowMs, visibleCarts.require(callerNow(), body.cart).key, by),
      what: body.what,
    }
    return this.#saveEntry(callerNow, () => entry, body)
  }

  /** Throws the codes of `requireEntry`, `plan_not_found`, and `invalid_field` for a time to come. */
  patch(callerNow: () => Caller, entryId: string, body: ServiceEntryPatch): Promise<ServiceEntry> {
    return this.#saveEntry(callerNow, () => this.requireEntry(callerNow(), entryId), body)
  }

  async delete(caller: Caller, entryId: string): Promise<void> {
    this.requireEntry(caller, entryId)
    await this.#deps.store.write('deleteServiceEntry', { entry_id: entryId }, () => this.changed())
  }

  /** Throws `entry_not_found`, and `cart_forbidden` out of scope. */
  requireEntry(caller: Caller, entryId: string): ServiceEntry {
    const { store, carts } = this.#deps
    const entry = store.read.serviceEntry(entryId)
    if (entry === undefined) throw new NotFoundError('entry_not_found', `there is no entry ${entryId}`)
    if (seesCart(carts, caller, entry.cart)) return entry
    throw new ForbiddenError('cart_forbidden', `cart ${entry.cart} is outside your scope`)
  }

  /** Makes the entry for a cart that is put in service again, which is saved with its notes. */
  async endOfService(
    cart: Cart,
    { sinceMs, why, reason }: NonNullable<CartNotes['outOfService']>,
    by: ServicePerson,
  ): Promise<SavedEntry> {
    const nowMs = this.#deps.clock.nowMs()
    const { hours, km, rounds } = await this.meterOf(cart)
    const out_of_service = { since: toIso(sinceMs), until: toIso(nowMs), reason }
    return { entry: { ...this.#entryAt(nowMs, cart.key, by), what: why, hours, km, rounds, out_of_service }, nowMs }
  }

  /** Plans, oldest first, with the carts that the caller sees. */
  plansFor(caller: Caller): ServicePlan[] {
    return this.#deps.store.read.servicePlans().map((plan) => this.toJson(caller, plan))
  }

  toJson(caller: Caller, { counts_from: _, ...plan }: StoredPlan): ServicePlan {
    const { carts } = this.#deps
    return { ...plan, carts: plan.carts?.filter((cart) => seesCart(carts, caller, cart)) ?? null }
  }

  /** Throws `too_many_plans` and `cart_not_found`. */
  createPlan(body: ServicePlanPatch & Pick<ServicePlan, 'name' | 'every'>, by: ServicePerson): Promise<StoredPlan> {
    return this.#turns.take(async () => {
      const { store, clock, carts } = this.#deps
      const fields = this.#planFields(body)
      if (store.read.servicePlans().length >= PLANS_MAX)
        throw new ConflictError('too_many_plans', `there are ${PLANS_MAX} plans already`)
      const meters = await this.#meters.readings(carts.all)
      const counts_from = Object.fromEntries(
        Array.from(meters, ([key, { hours, km, rounds }]) => [key, { hours, km, rounds }]),
      )
      const { name, every } = body
      const made = { carts: null, vehicle_kind: 'golf_cart', soon_percent: SOON_PERCENT } as const
      const created_at = toIso(clock.nowMs())
      return this.#savePlan({ plan_id: newUuid(), name, every, ...made, ...fields, by, created_at, counts_from })
    })
  }

  /** Throws `plan_not_found`, `cart_not_found`, and `invalid_field` if no interval remains. */
  patchPlan(planId: string, { every = {}, ...body }: ServicePlanPatch): Promise<StoredPlan> {
    return this.#turns.take(async () => {
      const plan = this.#requirePlan(planId)
      const merged = Object.entries({ ...plan.every, ...every }).filter(([, interval]) => interval !== null)
      if (merged.length === 0) throw fieldError('every', 'a plan has one interval at least')
      const name = body.name ?? plan.name
      return this.#savePlan({ ...plan, ...this.#planFields(body), name, every: Object.fromEntries(merged) })
    })
  }

  deletePlan(planId: string): Promise<void> {
    return this.#turns.take(async () => {
      this.#requirePlan(planId)
      await this.#deps.store.write('deleteServicePlan', { plan_id: planId }, () => this.changed())
    })
  }

  /** Returns the services of these carts by their plans, the most urgent first. */
  async due(carts: readonly Cart[]): Promise<DueOfCart[]> {
    const { store, site, clock } = this.#deps
    const plans = store.read.servicePlans()
    if (plans.length === 0) return []
    const meters = await this.#meters.readings(carts)
    const last = new Map(store.read.lastServices().map((entry) => [`${entry.plan_id} ${entry.cart}`, entry]))
    const dateOf = (time: string) => site.timeZone.local(Date.parse(time)).date
    const today = dateOf(toIso(clock.nowMs()))
    const found = carts.flatMap(({ key, notes }) =>
      plans
        .filter(({ carts: named, vehicle_kind }) => named?.includes(key) ?? vehicle_kind === notes.kind)
        .map((plan): DueOfCart => {
          const done = last.get(`${plan.plan_id} ${key}`)
          const from = {
            meter: done ?? plan.counts_from[key] ?? NO_METER,
            date: dateOf(done?.done_at ?? plan.created_at),
          }
          const now = { meter: meters.get(key) ?? NO_METER, date: today }
          const due = dueServiceOf({ every: plan.every, soonPercent: plan.soon_percent, from, now })
          return { ...due, cart: key, plan, lastDoneAt: done?.done_at ?? null }
        }),
    )
    return found.sort(byUrgency)
  }

  /** Returns an entry without a meter. */
  #entryAt(nowMs: number, cart: string, by: ServicePerson): Omit<ServiceEntry, 'what'> {
    const now = toIso(nowMs)
    const empty = { plan_id: null, done_by: null, cost: null, note: null, out_of_service: null }
    return { entry_id: newUuid(), cart, done_at: now, ...empty, ...NO_METER, by, created_at: now }
  }

  #saveEntry(
    callerNow: () => Caller,
    find: () => ServiceEntry,
    { what, done_at, plan_id, done_by, cost, note }: ServiceEntryPatch,
  ): Promise<ServiceEntry> {
    return this.#turns.take(async () => {
      const { store, clock, carts } = this.#deps
      const known = find()
      const doneAt = done_at === null ? toIso(clock.nowMs()) : (done_at ?? known.done_at)
      const doneMs = Date.parse(doneAt)
      if (doneMs > clock.nowMs() + AHEAD_MS) throw fieldError('done_at', 'must not be in the future')
      if (plan_id != null) this.#requirePlan(plan_id)
      const cart = carts.find(known.cart)
      const isNew = store.read.serviceEntry(known.entry_id) === undefined
      const meter =
        cart !== undefined && (isNew || doneAt !== known.done_at) ? await this.#meterAt(cart, doneMs) : known
      const entry: ServiceEntry = {
        ...known,
        what: what ?? known.what,
        done_at: doneAt,
        plan_id: plan_id === undefined ? known.plan_id : plan_id,
        done_by: done_by === undefined ? known.done_by : done_by || null,
        cost: cost === undefined ? known.cost : cost,
        note: note === undefined ? known.note : note || null,
        hours: meter.hours,
        km: meter.km,
        rounds: meter.rounds,
      }
      callerNow()
      await store.write('saveServiceEntry', { entry, nowMs: clock.nowMs() }, () => this.changed())
      return entry
    })
  }

  /** Returns the meter at a time; what was read a moment ago serves for the present. */
  #meterAt(cart: Cart, atMs: number): Promise<Meter> {
    return this.meterOf(cart, atMs > this.#deps.clock.nowMs() - MINUTE_MS ? undefined : atMs)
  }

  #requirePlan(planId: string): StoredPlan {
    const plan = this.#deps.store.read.servicePlans().find(({ plan_id }) => plan_id === planId)
    if (plan === undefined) throw new NotFoundError('plan_not_found', `there is no plan ${planId}`)
    return plan
  }

  /** Returns the given fields; null is the default. */
  #planFields({ carts, vehicle_kind, soon_percent }: ServicePlanPatch): Partial<ServicePlan> {
    return {
      ...(carts === undefined ? {} : { carts: carts && [...new Set(carts.map((name) => this.#keyOf(name)))] }),
      ...(vehicle_kind === undefined ? {} : { vehicle_kind: vehicle_kind ?? 'golf_cart' }),
      ...(soon_percent === undefined ? {} : { soon_percent: soon_percent ?? SOON_PERCENT }),
    }
  }

  #keyOf(name: string): string {
    const { carts } = this.#deps
    const cart = carts.find(name) ?? carts.of(name)
    if (cart === undefined) throw new NotFoundError('cart_not_found', `there is no cart ${name}`)
    return cart.key
  }

  async #savePlan(plan: StoredPlan): Promise<StoredPlan> {
    await this.#deps.store.write('saveServicePlan', { plan, nowMs: this.#deps.clock.nowMs() }, () => this.changed())
    return plan
  }

  #tick(nowMs: number): void {
    const { clockConfirmation, site, origins, clock, log } = this.#deps
    if (!this.#isRunning || this.#acting !== null || nowMs < this.#actsFromMs) return
    const { meteredOn, judgedOn } = this.#meters.days
    const night = this.#meters.nightAt(nowMs)
    const opening = site.calendar.lastOpening(nowMs)?.date ?? night
    const isWriting = clockConfirmation.isConfirmed && night !== meteredOn
    const isJudging = judgedOn === null || (clockConfirmation.isConfirmed && opening !== judgedOn)
    if (!isWriting && !isJudging) return
    const act = async () => {
      if (isWriting) await this.#meters.write(night, () => this.#isRunning)
      if (isJudging && this.#isRunning) await this.#judge(opening)
    }
    this.#acting = origins
      .run(GATEWAY, act)
      .catch((error: unknown) => {
        this.#actsFromMs = clock.nowMs() + RETRY_MS
        log.error({ reason: describeError(error) }, 'service evaluation failed; will retry')
      })
      .finally(() => {
        this.#acting = null
      })
  }

  async #judge(opening: string): Promise<void> {
    const { carts, events } = this.#deps
    const { days } = this.#meters
    const due = new Map<string, DuePlan[]>()
    for (const { cart, plan, state } of await this.due(carts.all)) {
      if (state !== 'due') continue
      due.set(cart, [...(due.get(cart) ?? []), { plan_id: plan.plan_id, name: plan.name }])
    }
    const known = [...(this.#due?.keys() ?? carts.all.map(({ key }) => key))]
    this.#due = due
    events.emit('servicesJudged', { carts: [...new Set([...known, ...due.keys()])] })
    // unless something changed meanwhile
    if (days === this.#meters.days) await this.#meters.saveDays({ ...days, judgedOn: opening })
  }
}

function fieldError(name: string, detail: string): InvalidRequestError {
  return new InvalidRequestError('invalid_field', `${name}: ${detail}`, [
    { in: 'body', name, code: 'invalid_field', detail },
  ])
}
