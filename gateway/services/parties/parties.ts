import { setTimeout as wait } from 'node:timers/promises'
import { type Caller, canSee, visibleHardwareIds } from '#domain/access.ts'
import { LOCK, UNLOCK } from '#domain/commands.ts'
import { GATEWAY } from '#domain/origin.ts'
import type { Events } from '#gateway/events.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { AppError, ConflictError, describeError, InvalidRequestError, NotFoundError } from '#shared/errors.ts'
import { newUuid } from '#shared/ids.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { dateAfter } from '#shared/site/time-zone.ts'
import { type Clock, DAY_MS, HOUR_MS } from '#shared/time.ts'
import {
  type HandOut,
  type NewParty,
  PARTIES_A_DAY,
  PARTY_CARTS_MAX,
  PARTY_NOTES_MAX,
  type PartyJson,
  type PartyPatch,
  type PartyReturn,
  type SheetResult,
} from '#shared/wire/parties/parties.ts'
import {
  type CartParty,
  type HandedOut,
  isOut,
  type Party,
  stateOf,
  toPartyJson,
} from '#shared/wire/parties/party-json.ts'
import type { PartyQuery } from '#store/parties/parties.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { Store } from '#store/store.ts'
import type { AuditContext } from '../audit-context.ts'
import type { Cart } from '../cart.ts'
import type { Carts } from '../carts/carts.ts'
import type { CommandBody, CommandCaller, Commands, LockChoice, LockResult } from '../commands/commands.ts'
import type { DeviceTypeLookup } from '../commands/request.ts'
import { lockChoiceOf, unlockChoiceOf } from '../locks/cart-locks.ts'
import type { Site } from '../site.ts'
import { dueReturnOf } from './due-returns.ts'
import { LiveParties, partyIdIn } from './live-parties.ts'
import { planSheet, type SheetPlan, type SheetRow } from './tee-sheet.ts'

interface PartiesDeps {
  store: Pick<Store, 'read' | 'write' | 'truncateLog'> & { readers: Pick<Store['readers'], 'run'> }
  carts: Pick<Carts, 'all' | 'find' | 'of' | 'evaluateNow' | 'touch'>
  commands: Pick<Commands, 'orderCarts'>
  deviceTypes: DeviceTypeLookup
  site: Pick<Site, 'settings' | 'calendar' | 'timeZone'>
  /** True once the gateway may act by its clock. */
  clockConfirmation: { readonly isConfirmed: boolean }
  origins: Pick<AuditContext, 'run'>
  events: Events
  clock: Clock
  log: Log
}

export type PartyPerson = NonNullable<Party['by']>

type CartResult = { cart: string; commandId: string | null } | { cart: string; code: string }

/** Result of a hand-out or return; stored to answer repeated requests, so it has no names. */
export interface PartyOutcome {
  partyId: string
  results: readonly CartResult[]
}

interface Changes {
  saved: readonly Party[]
  deleted: readonly string[]
}

/** Returned parties stay in memory for the rounds that began with them. */
const RECENT_MS = 2 * DAY_MS
/** Minute of the local day at which names are deleted. */
const NAMES_MINUTE = 4 * 60
const RETRY_MS = 30_000
const REPEATED_NOTE_MS = 10_000
/** Hand-outs kept of one party; the oldest that are returned go. */
const HANDED_OUT_MAX = 64
/** Attempts to truncate the write-ahead log, in which deleted names may remain. */
const TRUNCATIONS = 50
const TRUNCATION_PAUSE_MS = 100

/**
 * Parties: tee times, and the carts that are given out to them. Changes are made one at a time; a hand-out, its party
 * and its unlocks are one transaction. The gateway itself returns carts after each evaluation, and deletes names.
 */
export class Parties implements Component {
  readonly #deps: PartiesDeps
  readonly #live = new LiveParties()
  readonly #turns = new SerialQueue()
  #namesDay: string | null = null
  #isRunning = false
  /** True while a change by the gateway itself is under way. */
  #isActing = false
  #actsFromMs = Number.NEGATIVE_INFINITY
  #forgotAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: PartiesDeps) {
    this.#deps = deps
  }

  load(): void {
    const { events, store } = this.#deps
    this.#reread()
    this.#namesDay = store.read.namesDeletedOn()
    events.on('cartsEvaluated', ({ nowMs }) => this.#tick(nowMs))
    events.on('erased', ({ table }) => {
      if (table !== 'party') return
      this.#reread()
      for (const party of this.#live.out()) {
        for (const { cart } of party.carts.filter(isOut)) this.#deps.carts.touch(cart)
        this.#emit('changed', party)
      }
    })
  }

  async start(): Promise<void> {
    this.#isRunning = true
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    await this.#turns.idle()
  }

  ofCart(cart: string): CartParty | null {
    return this.#live.ofCart(cart)
  }

  /** Returns the party to which a cart was given at a time, if it is out or of these days. */
  partyAt(cart: string, atMs: number): Party | null {
    const partyId = this.#live.partyIdAt(cart, atMs)
    return partyId === null ? null : (this.#live.find(partyId) ?? null)
  }

  partyIdAt(cart: string, atMs: number): string | null {
    return this.#live.partyIdAt(cart, atMs)
  }

  /** Returns a function that finds the party of a cart at a time in a range. */
  async partyIdsIn(range: { fromMs: number; toMs: number }, asker: JobOptions): Promise<PartyIdAt> {
    const { timeZone } = this.#deps.site
    const from = dateAfter(timeZone.local(range.fromMs).date, -2)
    const to = dateAfter(timeZone.local(range.toMs).date, 1)
    const query: PartyQuery = { from, to, order: 'asc', offset: 0, limit: Number.MAX_SAFE_INTEGER }
    const parties = await this.#deps.store.readers.run('parties', query, asker)
    return (cart, atMs) => partyIdIn(parties, cart, atMs)
  }

  list(caller: Caller, query: Omit<PartyQuery, 'visible'>, asker: JobOptions): Promise<Party[]> {
    const { carts, store } = this.#deps
    const visible =
      visibleHardwareIds(caller) === undefined
        ? undefined
        : carts.all.filter(({ key }) => this.#sees(caller, key)).map(({ key }) => key)
    return store.readers.run('parties', { ...query, visible }, asker)
  }

  /** Throws `party_not_found`, or `cart_forbidden` if none of its carts is in scope. */
  require(caller: Caller, partyId: string): Party {
    const party = this.#find(partyId)
    if (this.maySee(caller, party)) return party
    throw new AppError('forbidden', 'cart_forbidden', 'no cart of this party is in your scope')
  }

  maySee(caller: Caller, { carts }: Party): boolean {
    return carts.length === 0 || carts.some(({ cart }) => this.#sees(caller, cart))
  }

  toJson(caller: Caller, party: Party): PartyJson {
    const { site, clock } = this.#deps
    const sees = (cart: string) => this.#sees(caller, cart)
    return toPartyJson(party, { minutesPerHole: site.settings.minutesPerHole, nowMs: clock.nowMs(), sees })
  }

  /** Creates a party, and gives out its carts. Throws the codes of `#given`, `party_exists` and `too_many_parties`. */
  create(body: NewParty, by: PartyPerson, asking: CommandCaller): Promise<CommandBody<PartyOutcome>> {
    const partyId = newUuid()
    const { carts, unlock, move, until, ...fields } = body
    return this.#order({ party: body }, asking, (caller) => {
      const nowMs = this.#deps.clock.nowMs()
      const booked = this.#booked(partyId, { ...fields, until }, by, nowMs)
      this.#requireRoom(booked, [])
      return this.#givingOf(caller, booked, { carts, unlock, move, until }, by)
    })
  }

  /** Gives out carts to a party. Throws `party_is_over` and the codes of `#given`. */
  give(partyId: string, body: HandOut, by: PartyPerson, asking: CommandCaller): Promise<CommandBody<PartyOutcome>> {
    return this.#order({ partyId, ...body }, asking, (caller) => {
      const party = this.require(caller, partyId)
      if (stateOf(party) === 'over') throw new ConflictError('party_is_over', 'all carts of this party are returned')
      return this.#givingOf(caller, party, body, by)
    })
  }

  /** Returns carts of a party; all in scope if none are named. Throws `cart_not_found` and `cart_forbidden`. */
  return(partyId: string, { carts, lock }: PartyReturn, asking: CommandCaller): Promise<CommandBody<PartyOutcome>> {
    return this.#order({ partyId, carts, lock, what: 'return' }, asking, (caller) => {
      const party = this.require(caller, partyId)
      const keys = carts === undefined ? null : this.#returnedKeys(caller, party, carts)
      const isReturned = (one: HandedOut) => isOut(one) && (keys?.has(one.cart) ?? this.#sees(caller, one.cart))
      const all = keys ?? new Set(party.carts.filter(isReturned).map(({ cart }) => cart))
      const choices = lock ? [...all].map((cart) => this.#lockOf(cart, caller)) : []
      const results = lock ? undefined : [...all].map((cart) => ({ cart, commandId: null }))
      return { command: LOCK, choices, party: this.#returned(party, isReturned, 'hand'), others: [], results }
    })
  }

  patch(callerNow: () => Caller, partyId: string, patch: PartyPatch): Promise<Party> {
    return this.#turns.take(async () => {
      const caller = callerNow()
      const party = this.require(caller, partyId)
      const { drivers = {}, players, tee_time, start_hole, holes, note, until } = patch
      for (const cart of Object.keys(drivers))
        if (!party.carts.some((one) => one.cart === cart && this.#sees(caller, cart)))
          throw new NotFoundError('cart_not_found', `the party has no cart ${cart}`)
      const teeTimeMs = tee_time === undefined ? party.teeTimeMs : tee_time
      const changed: Party = {
        ...party,
        teeTimeMs,
        date: this.#dateOf(teeTimeMs, party.createdAtMs),
        players: players === undefined ? party.players : (players ?? []),
        startHole: start_hole === undefined ? party.startHole : start_hole,
        holes: holes === undefined ? party.holes : (holes ?? 18),
        note: note === undefined ? party.note : note || null,
        untilMs: until === undefined ? party.untilMs : until,
        carts: party.carts.map((one) => ({ ...one, driver: withDriver(one, drivers) })),
      }
      if (changed.date !== party.date) this.#requireRoom(changed, [])
      return this.#saveOne(changed)
    })
  }

  /** Adds a note; the same text again within ten seconds is one. */
  addNote(callerNow: () => Caller, partyId: string, text: string, by: PartyPerson): Promise<Party> {
    return this.#turns.take(async () => {
      const party = this.require(callerNow(), partyId)
      const atMs = this.#deps.clock.nowMs()
      const last = party.notes.at(-1)
      if (last?.text === text && Math.abs(atMs - last.atMs) < REPEATED_NOTE_MS) return party
      return this.#saveOne({ ...party, notes: [...party.notes, { atMs, text, by }].slice(-PARTY_NOTES_MAX) })
    })
  }

  /** Throws `party_is_out` and `party_is_over`. */
  delete(callerNow: () => Caller, partyId: string): Promise<void> {
    return this.#turns.take(async () => {
      const party = this.require(callerNow(), partyId)
      const state = stateOf(party)
      if (state !== 'booked') throw new ConflictError(`party_is_${state}`, 'carts were given out to this party')
      await this.#save({ saved: [], deleted: [partyId] }, [party])
    })
  }

  /** Imports a tee sheet: all lines or none. Throws `invalid_import`. */
  importSheet(
    rows: readonly SheetRow[],
    { by, isDryRun, replaces }: { by: PartyPerson; isDryRun: boolean; replaces: boolean },
  ): Promise<SheetResult> {
    return this.#turns.take(async () => {
      const { store, clock } = this.#deps
      const nowMs = clock.nowMs()
      const dates = new Set(rows.map(({ date }) => date))
      const known = [...dates].flatMap((date) => store.read.partiesOfDay(date))
      const create = (row: SheetRow): Party => ({
        ...this.#booked(newUuid(), NO_FIELDS, by, nowMs),
        source: 'sheet',
        date: row.date,
      })
      const plan: SheetPlan = planSheet(rows, { known, replaces, create, nowMs })
      const { created, updated, deleted, unchanged } = plan
      if (!isDryRun && created.length + updated.length + deleted.length > 0)
        await this.#save({ saved: [...created, ...updated], deleted: deleted.map(({ partyId }) => partyId) }, deleted)
      return { created: created.length, updated: updated.length, unchanged, deleted: deleted.length }
    })
  }

  #find(partyId: string): Party {
    const party = this.#live.find(partyId) ?? this.#deps.store.read.party(partyId)
    if (party === undefined) throw new NotFoundError('party_not_found', `there is no party ${partyId}`)
    return party
  }

  #booked(partyId: string, fields: BookedFields, by: PartyPerson, nowMs: number): Party {
    return {
      partyId,
      date: this.#dateOf(fields.tee_time, nowMs),
      teeTimeMs: fields.tee_time,
      startHole: fields.start_hole,
      holes: fields.holes,
      players: fields.players,
      note: fields.note || null,
      externalId: fields.external_id,
      source: 'hand',
      untilMs: fields.until ?? null,
      carts: [],
      notes: [],
      by,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    }
  }

  #dateOf(teeTimeMs: number | null, createdAtMs: number): string {
    return this.#deps.site.timeZone.local(teeTimeMs ?? createdAtMs).date
  }

  /** Throws `party_exists` and `too_many_parties`. */
  #requireRoom({ partyId, date, externalId }: Party, ignored: readonly string[]): void {
    const others = this.#deps.store.read
      .partiesOfDay(date)
      .filter((one) => one.partyId !== partyId && !ignored.includes(one.partyId))
    if (externalId !== null && others.some((one) => one.externalId === externalId))
      throw new ConflictError('party_exists', `${date} already has a party with this external_id`)
    if (others.length >= PARTIES_A_DAY)
      throw new ConflictError('too_many_parties', `${date} already has ${PARTIES_A_DAY} parties`)
  }

  #sees(caller: Caller, key: string): boolean {
    const cart = this.#deps.carts.find(key)
    // only callers without limits see a removed cart
    if (cart === undefined) return visibleHardwareIds(caller) === undefined
    return cart.devices.some(({ row }) => canSee(caller, row.hardwareId))
  }

  #givingOf(caller: Caller, party: Party, { carts, unlock, move, until }: HandOut, by: PartyPerson): PartyOrder {
    const { deviceTypes, clock } = this.#deps
    const chosen = carts.map((one, i) => ({ ...one, cart: this.#given(caller, party, carts, i, move) }))
    const nowMs = clock.nowMs()
    const keys = new Set(chosen.map(({ cart }) => cart.key))
    const others = [...keys].flatMap((key) => this.#live.ofCart(key)?.party ?? [])
    const handedOut = chosen.map(({ cart, driver = null }) => ({
      cart: cart.key,
      driver,
      givenAtMs: nowMs,
      by,
      returnedAtMs: null,
      returned: null,
    }))
    const all = [...party.carts, ...handedOut]
    if (all.filter(isOut).length > PARTY_CARTS_MAX)
      throw fieldError('invalid', 'invalid_field', 'carts', `a party has up to ${PARTY_CARTS_MAX} carts at a time`)
    return {
      command: UNLOCK,
      choices: unlock ? chosen.map(({ cart }) => unlockChoiceOf(cart, caller, deviceTypes)) : [],
      party: { ...party, carts: withoutOldest(all), ...(until === undefined ? {} : { untilMs: until }) },
      others: [...new Set(others)].map((one) =>
        this.#returned(one, (given) => isOut(given) && keys.has(given.cart), 'moved'),
      ),
      results: unlock ? undefined : chosen.map(({ cart }) => ({ cart: cart.key, commandId: null })),
    }
  }

  /** Returns the cart of a line of a hand-out. Throws why it cannot be given, naming its field. */
  #given(caller: Caller, party: Party, lines: HandOut['carts'], i: number, move: boolean): Cart {
    const { carts } = this.#deps
    const name = lines[i]?.cart ?? ''
    const refused = (kind: AppError['kind'], code: string, message: string) =>
      fieldError(kind, code, `carts[${i}].cart`, message)
    const known = carts.find(name) ?? carts.of(name)
    if (known === undefined) throw refused('not_found', 'cart_not_found', `there is no cart ${name}`)
    const { key } = known
    if (lines.slice(0, i).some(({ cart }) => (carts.find(cart) ?? carts.of(cart)) === known))
      throw refused('invalid', 'invalid_field', `cart ${key} is named twice`)
    if (!this.#sees(caller, key)) throw refused('forbidden', 'cart_forbidden', `cart ${key} is outside your scope`)
    const cart = carts.evaluateNow(known)
    const out = this.#live.ofCart(key)
    if (out !== null && (!move || out.party.partyId === party.partyId))
      throw refused('conflict', 'cart_given_out', `cart ${key} is given out already`)
    if (cart.notes.outOfService !== null)
      throw refused('conflict', 'cart_out_of_service', `cart ${key} is out of service`)
    if (cart.notes.kind !== 'golf_cart') throw refused('conflict', 'not_a_golf_cart', 'only golf carts are given out')
    return cart
  }

  #returnedKeys(caller: Caller, party: Party, named: readonly string[]): Set<string> {
    return new Set(
      named.map((name, i) => {
        const key = this.#deps.carts.find(name)?.key ?? this.#deps.carts.of(name)?.key ?? name
        if (!party.carts.some(({ cart }) => cart === key))
          throw fieldError('not_found', 'cart_not_found', `carts[${i}]`, `the party has no cart ${name}`)
        if (!this.#sees(caller, key))
          throw fieldError('forbidden', 'cart_forbidden', `carts[${i}]`, `cart ${key} is outside your scope`)
        return key
      }),
    )
  }

  #lockOf(key: string, caller: Caller): LockChoice {
    const { carts, deviceTypes } = this.#deps
    const cart = carts.find(key)
    if (cart === undefined) return { cart: key, code: 'cart_not_found' }
    return lockChoiceOf(carts.evaluateNow(cart), caller, deviceTypes)
  }

  #returned(party: Party, isReturned: (one: HandedOut) => boolean, returned: HandedOut['returned']): Party {
    const returnedAtMs = this.#deps.clock.nowMs()
    return { ...party, carts: party.carts.map((one) => (isReturned(one) ? { ...one, returned, returnedAtMs } : one)) }
  }

  /** Makes a change together with commands to its carts. */
  #order(
    request: object,
    asking: CommandCaller,
    plan: (caller: Caller) => PartyOrder,
  ): Promise<CommandBody<PartyOutcome>> {
    return this.#turns.take(() => {
      let changes: Changes = { saved: [], deleted: [] }
      const isPlanned = (caller: Caller) => {
        const { command, choices, party, others, results } = plan(caller)
        const { partyId } = party
        changes = { saved: [this.#dated(party), ...others.map((one) => this.#dated(one))], deleted: [] }
        const outcomeOf = (made: readonly LockResult[]): PartyOutcome => ({
          partyId,
          results: results ?? (command === UNLOCK ? made.map(unlockResultOf) : made),
        })
        const also = { name: 'saveParties' as const, input: changes }
        return { command, choices, metadata: { party_id: partyId }, also, outcomeOf }
      }
      return this.#reloading(
        this.#deps.commands.orderCarts(request, isPlanned, { ...asking, onWritten: () => this.#saved(changes, []) }),
      )
    })
  }

  async #saveOne(party: Party): Promise<Party> {
    const dated = this.#dated(party)
    await this.#save({ saved: [dated], deleted: [] }, [])
    return dated
  }

  #dated(party: Party): Party {
    return { ...party, updatedAtMs: this.#deps.clock.nowMs() }
  }

  #save(changes: Changes, deleted: readonly Party[]): Promise<unknown> {
    return this.#reloading(this.#deps.store.write('saveParties', changes, () => this.#saved(changes, deleted)))
  }

  /** Reads the parties again after a failed write, which may still have reached the disk. */
  async #reloading<Result>(write: Promise<Result>): Promise<Result> {
    try {
      return await write
    } catch (error) {
      if (!(error instanceof AppError) || error.kind === 'unavailable') this.#reread()
      throw error
    }
  }

  #reread(): void {
    const { store, clock, site } = this.#deps
    const nowMs = clock.nowMs()
    this.#live.load(store.read.liveParties(nowMs - RECENT_MS), site.settings.minutesPerHole, nowMs)
  }

  #saved({ saved, deleted }: Changes, removed: readonly Party[]): void {
    const { site, clock, carts } = this.#deps
    const keys = this.#live.change(saved, deleted, site.settings.minutesPerHole, clock.nowMs())
    for (const key of new Set(keys)) carts.touch(key)
    for (const party of saved) this.#emit('changed', party)
    for (const party of removed) this.#emit('removed', party)
  }

  #emit(event: 'changed' | 'removed', party: Party): void {
    this.#deps.events.emit('partyChanged', { event, party })
  }

  #tick(nowMs: number): void {
    const { site, carts, clockConfirmation } = this.#deps
    for (const key of new Set(this.#live.refresh(site.settings.minutesPerHole, nowMs))) {
      carts.touch(key)
      const party = this.#live.ofCart(key)?.party
      if (party !== undefined) this.#emit('changed', party)
    }
    if (nowMs - this.#forgotAtMs > HOUR_MS) {
      this.#forgotAtMs = nowMs
      this.#live.forgetBefore(nowMs - RECENT_MS)
    }
    if (!this.#isRunning || this.#isActing || !clockConfirmation.isConfirmed || nowMs < this.#actsFromMs) return
    if (this.#dueReturns(nowMs).length > 0) this.#act('return of carts', () => this.#returnDue())
    else if (this.#dueNamesDay(nowMs) !== null) this.#act('deletion of names', () => this.#deleteNames())
  }

  /** Runs a change by the gateway itself; a failed one is repeated a little later. */
  #act(what: string, change: () => Promise<void>): void {
    const { origins, clock, log } = this.#deps
    this.#isActing = true
    void origins
      .run(GATEWAY, () => this.#turns.take(change))
      .catch((error: unknown) => {
        this.#actsFromMs = clock.nowMs() + RETRY_MS
        log.error({ reason: describeError(error) }, `${what} failed; will retry`)
      })
      .finally(() => {
        this.#isActing = false
      })
  }

  #dueReturns(nowMs: number): Party[] {
    const { site, carts } = this.#deps
    const { calendar, timeZone, settings } = site
    const circumstances = { calendar, timeZone, returnAfterMin: settings.returnAfterMin, nowMs }
    return this.#live.out().flatMap((party) => {
      const due = party.carts.map((one) => (isOut(one) ? dueReturnOf(one, carts.find(one.cart), circumstances) : null))
      if (due.every((returned) => returned === null)) return []
      const returned = (one: HandedOut, i: number): HandedOut =>
        due[i] == null ? one : { ...one, returned: due[i], returnedAtMs: nowMs }
      return [{ ...party, carts: party.carts.map(returned) }]
    })
  }

  async #returnDue(): Promise<void> {
    const saved = this.#dueReturns(this.#deps.clock.nowMs()).map((party) => this.#dated(party))
    if (saved.length > 0) await this.#save({ saved, deleted: [] }, [])
  }

  /** Returns the local day whose deletion of names is due; null for none. */
  #dueNamesDay(nowMs: number): string | null {
    const { timeZone } = this.#deps.site
    const { date } = timeZone.local(nowMs)
    const day = nowMs >= timeZone.instantOf(date, NAMES_MINUTE) ? date : dateAfter(date, -1)
    return this.#namesDay !== null && day <= this.#namesDay ? null : day
  }

  async #deleteNames(): Promise<void> {
    const { store, clock, site, log } = this.#deps
    const today = this.#dueNamesDay(clock.nowMs())
    if (today === null) return
    // in the night after a round its day is yesterday, and the parties of today keep their names
    const until = dateAfter(today, -Math.max(1, site.settings.namesKeptDays))
    let parties = 0
    while (this.#namesDay !== today) {
      const input = { until, today, nowMs: clock.nowMs() }
      const step: Party[] = await store.write('deletePartyNames', input, (changed) => {
        if (changed.length > 0) this.#saved({ saved: changed, deleted: [] }, [])
        else this.#namesDay = today
      })
      parties += step.length
    }
    if (parties === 0) return
    for (let tried = 0; this.#isRunning && tried < TRUNCATIONS && !(await store.truncateLog()); tried++)
      await wait(TRUNCATION_PAUSE_MS)
    log.info({ parties }, 'deleted the names of golfers')
  }
}

type PartyIdAt = (cart: string, atMs: number) => string | null

type BookedFields = Omit<NewParty, 'carts' | 'unlock' | 'move'>
const NO_FIELDS: BookedFields = {
  players: [],
  tee_time: null,
  start_hole: null,
  holes: 18,
  note: null,
  external_id: null,
}

/** Change of a party, and commands to its carts. */
interface PartyOrder {
  command: typeof LOCK | typeof UNLOCK
  choices: readonly LockChoice[]
  party: Party
  /** Parties from which carts are moved. */
  others: readonly Party[]
  /** Results without commands. */
  results: readonly CartResult[] | undefined
}

/** A cart without a device that can be unlocked is given out anyway. Throws for other reasons: all carts or none. */
function unlockResultOf(result: LockResult): CartResult {
  if ('commandId' in result) return result
  if (result.code === 'unsupported_command') return { cart: result.cart, commandId: null }
  throw new ConflictError(result.code, `cart ${result.cart} cannot be unlocked now`)
}

function fieldError(kind: AppError['kind'], code: string, name: string, detail: string): AppError {
  const errors = [{ in: 'body' as const, name, code, detail }]
  return kind === 'invalid'
    ? new InvalidRequestError(code, `${name}: ${detail}`, errors)
    : new AppError(kind, code, detail, { errors })
}

function withDriver({ cart, driver, returnedAtMs }: HandedOut, drivers: Record<string, string | null>): string | null {
  return returnedAtMs === null && Object.hasOwn(drivers, cart) ? (drivers[cart] ?? null) : driver
}

function withoutOldest(carts: readonly HandedOut[]): HandedOut[] {
  const extra = carts.length - HANDED_OUT_MAX
  const oldest = new Set(extra <= 0 ? [] : carts.filter((one) => !isOut(one)).slice(0, extra))
  return carts.filter((one) => !oldest.has(one))
}
