import { type Caller, visibleHardwareIds } from '#domain/access.ts'
import { LOCK, UNLOCK } from '#domain/commands.ts'
import { GATEWAY } from '#domain/origin.ts'
import type { Events } from '#gateway/events.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { AppError, ConflictError, describeError, InvalidRequestError, NotFoundError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { dateAfter } from '#shared/site/time-zone.ts'
import { type Clock, DAY_MS, HOUR_MS, toIso } from '#shared/time.ts'
import {
  type HandedOut,
  type HandOut,
  type NewParty,
  PARTIES_A_DAY,
  PARTY_CARTS_MAX,
  PARTY_NOTES_MAX,
  type Party,
  type PartyJson,
  type PartyPatch,
  type PartyResultJson,
  type PartyReturn,
  type SheetResult,
} from '#shared/wire/parties/parties.ts'
import { type CartParty, isOut, stateOf, toPartyJson } from '#shared/wire/parties/party-json.ts'
import type { PartyChanges, PartyQuery } from '#store/parties/parties.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { Store } from '#store/store.ts'
import type { AuditContext } from '../audit-context.ts'
import type { Cart } from '../cart.ts'
import type { Carts } from '../carts/carts.ts'
import { seesCart } from '../carts/visible-carts.ts'
import type { CommandBody, CommandCaller, Commands, LockChoice, LockResult } from '../commands/commands.ts'
import type { DeviceTypeLookup } from '../commands/request.ts'
import { lockChoiceOf, unlockChoiceOf } from '../locks/cart-locks.ts'
import type { Erasures } from '../retention/erasures.ts'
import type { Site } from '../site.ts'
import { dueReturnOf } from './due-returns.ts'
import { LiveParties, partyIn } from './live-parties.ts'
import { NameDeletion } from './name-deletion.ts'
import { emptyParty, withFields } from './party-fields.ts'
import { planSheet, type SheetRow } from './tee-sheet.ts'

interface PartiesDeps {
  store: Pick<Store, 'read' | 'write' | 'truncateLog'> & { readers: Pick<Store['readers'], 'run'> }
  carts: Pick<Carts, 'all' | 'find' | 'of' | 'evaluateNow' | 'touch'>
  commands: Pick<Commands, 'orderCarts'>
  deviceTypes: DeviceTypeLookup
  site: Pick<Site, 'settings' | 'calendar' | 'timeZone'>
  /** True once the gateway may act by its clock. */
  clockConfirmation: { readonly isConfirmed: boolean }
  erasures: Pick<Erasures, 'blankCallTexts'>
  origins: Pick<AuditContext, 'run'>
  events: Events
  clock: Clock
  log: Log
}

type PartyPerson = Party['by']

/** Result of a hand-out or return; stored to answer repeated requests, so it has no names. */
export interface PartyOutcome {
  partyId: string
  results: readonly PartyResultJson[]
}

/** Changed parties, this one first, and commands to its carts. */
interface PartyOrder {
  command: typeof LOCK | typeof UNLOCK
  choices: readonly LockChoice[]
  saved: readonly [Party, ...Party[]]
}

/** Code of a cart that gets no command. */
const NO_COMMAND = 'no_command'
/** Returned parties stay in memory for the rounds that began with them. */
const RECENT_MS = 2 * DAY_MS
const RETRY_MS = 30_000
const REPEATED_NOTE_MS = 10_000
/** Hand-outs kept of one party; the oldest that are returned go. */
const HANDED_OUT_MAX = 64

/**
 * Parties: tee times, and the carts that are given out to them. Changes are made one at a time; a hand-out, its party
 * and its unlocks are one transaction. The gateway itself returns carts after each evaluation, and deletes names.
 */
export class Parties implements Component {
  readonly #deps: PartiesDeps
  readonly #live = new LiveParties()
  readonly #turns = new SerialQueue()
  readonly #names: NameDeletion
  #isRunning = false
  /** True while a change by the gateway itself is under way. */
  #isActing = false
  #actsFromMs = Number.NEGATIVE_INFINITY
  #forgotAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: PartiesDeps) {
    this.#deps = deps
    this.#names = new NameDeletion(deps)
  }

  load(): void {
    const { events, carts } = this.#deps
    this.#reread()
    this.#names.load()
    events.on('cartsEvaluated', ({ nowMs }) => this.#tick(nowMs))
    events.on('erased', ({ table }) => {
      if (table !== 'party') return
      this.#reread()
      for (const party of this.#live.out()) {
        for (const { cart } of party.carts.filter(isOut)) carts.touch(cart)
        events.emit('partyChanged', { event: 'changed', party })
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

  /** Returns the party that a cart was given out to in the last days; null for none. */
  partyAt(cart: string, atMs: number): Party | null {
    return this.#live.partyAt(cart, atMs)
  }

  /** Returns a function that finds the party of a cart at a time in a range. */
  async partiesIn(range: { fromMs: number; toMs: number }, asker: JobOptions): Promise<Parties['partyAt']> {
    const { timeZone } = this.#deps.site
    const from = dateAfter(timeZone.local(range.fromMs).date, -2)
    const to = dateAfter(timeZone.local(range.toMs).date, 1)
    const query: PartyQuery = { from, to, order: 'asc', offset: 0, limit: Number.MAX_SAFE_INTEGER }
    const parties = await this.#deps.store.readers.run('parties', query, asker)
    return (cart, atMs) => partyIn(parties, cart, atMs)
  }

  list(caller: Caller, query: Omit<PartyQuery, 'visible'>, asker: JobOptions): Promise<Party[]> {
    const { carts, store } = this.#deps
    const keys = carts.all.map(({ key }) => key)
    const visible = seesAll(caller) ? undefined : keys.filter((key) => this.#sees(caller, key))
    return store.readers.run('parties', { ...query, visible }, asker)
  }

  /** Throws `party_not_found`, or `cart_forbidden` if none of its carts is in scope. */
  require(caller: Caller, partyId: string): Party {
    const party = this.#live.find(partyId) ?? this.#deps.store.read.party(partyId)
    if (party === undefined) throw new NotFoundError('party_not_found', `there is no party ${partyId}`)
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
    return this.#order({ party: body }, asking, (caller) => {
      const { clock, site } = this.#deps
      const booked = withFields(emptyParty({ by, source: 'hand' }, toIso(clock.nowMs())), body, site.timeZone)
      this.#requireRoom(booked)
      return this.#givingOf(caller, booked, body, by)
    })
  }

  /** Gives out carts to a party. Throws `party_is_over` and the codes of `#given`. */
  give(partyId: string, body: HandOut, by: PartyPerson, asking: CommandCaller): Promise<CommandBody<PartyOutcome>> {
    return this.#order({ partyId, ...body }, asking, (caller) => {
      const party = this.require(caller, partyId)
      if (stateOf(party) === 'over') throw new ConflictError('party_is_over', 'all carts of this party are returned')
      return this.#givingOf(caller, withFields(party, { until: body.until }, this.#deps.site.timeZone), body, by)
    })
  }

  /** Returns carts of a party; all in scope if none are named. Throws `cart_not_found` and `cart_forbidden`. */
  return(partyId: string, { carts, lock }: PartyReturn, asking: CommandCaller): Promise<CommandBody<PartyOutcome>> {
    return this.#order({ partyId, carts, lock, what: 'return' }, asking, (caller) => {
      const party = this.require(caller, partyId)
      const out = party.carts.filter((one) => isOut(one) && this.#sees(caller, one.cart)).map(({ cart }) => cart)
      const keys = carts === undefined ? new Set(out) : this.#namedCarts(caller, party, carts)
      const choices = [...keys].map((cart) => (lock ? this.#lockOf(cart, caller) : { cart, code: NO_COMMAND }))
      return { command: LOCK, choices, saved: [this.#returned(party, keys, 'hand')] }
    })
  }

  patch(callerNow: () => Caller, partyId: string, { drivers = {}, ...fields }: PartyPatch): Promise<Party> {
    return this.#change(callerNow, partyId, (party, caller) => {
      for (const cart of Object.keys(drivers))
        if (!party.carts.some((one) => one.cart === cart && this.#sees(caller, cart)))
          throw new NotFoundError('cart_not_found', `the party has no cart ${cart}`)
      const carts = party.carts.map((one) => {
        const driver = isOut(one) && Object.hasOwn(drivers, one.cart) ? drivers[one.cart] : one.driver
        return { ...one, driver: driver ?? null }
      })
      const changed = withFields({ ...party, carts }, fields, this.#deps.site.timeZone)
      if (changed.date !== party.date) this.#requireRoom(changed)
      return changed
    })
  }

  /** Adds a note; the same text again within ten seconds is one. */
  addNote(callerNow: () => Caller, partyId: string, text: string, by: PartyPerson): Promise<Party> {
    return this.#change(callerNow, partyId, (party) => {
      const nowMs = this.#deps.clock.nowMs()
      const last = party.notes.at(-1)
      if (last?.text === text && Math.abs(nowMs - Date.parse(last.at)) < REPEATED_NOTE_MS) return party
      return { ...party, notes: [...party.notes, { at: toIso(nowMs), text, by }].slice(-PARTY_NOTES_MAX) }
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
      const { store, clock, site } = this.#deps
      const known = [...new Set(rows.map(({ date }) => date))].flatMap((date) => store.read.partiesOfDay(date))
      const create = () => emptyParty({ by, source: 'sheet' }, toIso(clock.nowMs()))
      const plan = planSheet(rows, { known, replaces, create, timeZone: site.timeZone })
      const saved = [...plan.created, ...plan.updated].map((party) => this.#dated(party))
      const deleted = plan.deleted.map(({ party_id }) => party_id)
      if (!isDryRun && saved.length + deleted.length > 0) await this.#save({ saved, deleted }, plan.deleted)
      return {
        created: plan.created.length,
        updated: plan.updated.length,
        unchanged: plan.unchanged,
        deleted: deleted.length,
      }
    })
  }

  /** Throws `party_exists` and `too_many_parties`. */
  #requireRoom({ party_id, date, external_id }: Party): void {
    const others = this.#deps.store.read.partiesOfDay(date).filter((one) => one.party_id !== party_id)
    if (external_id !== null && others.some((one) => one.external_id === external_id))
      throw new ConflictError('party_exists', `${date} already has a party with this external_id`)
    if (others.length >= PARTIES_A_DAY)
      throw new ConflictError('too_many_parties', `${date} already has ${PARTIES_A_DAY} parties`)
  }

  #sees(caller: Caller, key: string): boolean {
    return seesCart(this.#deps.carts, caller, key)
  }

  #cartOf(name: string): Cart | undefined {
    const { carts } = this.#deps
    return carts.find(name) ?? carts.of(name)
  }

  #givingOf(
    caller: Caller,
    party: Party,
    { carts, unlock, move }: Pick<HandOut, 'carts' | 'unlock' | 'move'>,
    by: PartyPerson,
  ): PartyOrder {
    const { deviceTypes, clock } = this.#deps
    const chosen = carts.map((_, i) => this.#given(caller, party, carts, i, move))
    const keys = new Set(chosen.map(({ key }) => key))
    const handedOut = chosen.map(({ key: cart }, i): HandedOut => {
      const driver = carts[i]?.driver ?? null
      return { cart, driver, given_at: toIso(clock.nowMs()), by, returned_at: null, returned: null }
    })
    const all = [...party.carts, ...handedOut]
    if (all.filter(isOut).length > PARTY_CARTS_MAX)
      throw fieldError('invalid', 'invalid_field', 'carts', `a party has up to ${PARTY_CARTS_MAX} carts at a time`)
    const others = new Set([...keys].flatMap((key) => this.#live.ofCart(key)?.party ?? []))
    return {
      command: UNLOCK,
      choices: chosen.map((cart) =>
        unlock ? unlockChoiceOf(cart, caller, deviceTypes) : { cart: cart.key, code: NO_COMMAND },
      ),
      saved: [
        { ...party, carts: withoutOldest(all) },
        ...[...others].map((other) => this.#returned(other, keys, 'moved')),
      ],
    }
  }

  /** Returns the cart of a line of a hand-out. Throws why it cannot be given, naming its field. */
  #given(caller: Caller, party: Party, lines: HandOut['carts'], i: number, move: boolean): Cart {
    const name = lines[i]?.cart ?? ''
    const refused = (kind: AppError['kind'], code: string, message: string) =>
      fieldError(kind, code, `carts[${i}].cart`, message)
    const known = this.#cartOf(name)
    if (known === undefined) throw refused('not_found', 'cart_not_found', `there is no cart ${name}`)
    const { key } = known
    if (lines.slice(0, i).some(({ cart }) => this.#cartOf(cart) === known))
      throw refused('invalid', 'invalid_field', `cart ${key} is named twice`)
    if (!this.#sees(caller, key)) throw refused('forbidden', 'cart_forbidden', `cart ${key} is outside your scope`)
    const cart = this.#deps.carts.evaluateNow(known)
    const out = this.#live.ofCart(key)
    if (out !== null && (!move || out.party.party_id === party.party_id))
      throw refused('conflict', 'cart_given_out', `cart ${key} is given out already`)
    if (cart.notes.outOfService !== null)
      throw refused('conflict', 'cart_out_of_service', `cart ${key} is out of service`)
    if (cart.notes.kind !== 'golf_cart') throw refused('conflict', 'not_a_golf_cart', 'only golf carts are given out')
    return cart
  }

  #namedCarts(caller: Caller, party: Party, named: readonly string[]): Set<string> {
    const keys = named.map((name, i) => {
      const key = this.#cartOf(name)?.key ?? name
      if (!party.carts.some(({ cart }) => cart === key))
        throw fieldError('not_found', 'cart_not_found', `carts[${i}]`, `the party has no cart ${name}`)
      if (this.#sees(caller, key)) return key
      throw fieldError('forbidden', 'cart_forbidden', `carts[${i}]`, `cart ${key} is outside your scope`)
    })
    return new Set(keys)
  }

  #lockOf(key: string, caller: Caller): LockChoice {
    const { carts, deviceTypes } = this.#deps
    const cart = carts.find(key)
    if (cart === undefined) return { cart: key, code: 'cart_not_found' }
    return lockChoiceOf(carts.evaluateNow(cart), caller, deviceTypes)
  }

  #returned(party: Party, keys: ReadonlySet<string>, returned: HandedOut['returned']): Party {
    const returned_at = toIso(this.#deps.clock.nowMs())
    const isReturned = (one: HandedOut) => isOut(one) && keys.has(one.cart)
    return { ...party, carts: party.carts.map((one) => (isReturned(one) ? { ...one, returned, returned_at } : one)) }
  }

  /** Makes a change together with commands to its carts. */
  #order(
    request: object,
    asking: CommandCaller,
    plan: (caller: Caller) => PartyOrder,
  ): Promise<CommandBody<PartyOutcome>> {
    return this.#turns.take(() => {
      let changes: PartyChanges = { saved: [], deleted: [] }
      const planned = (caller: Caller) => {
        const { command, choices, saved } = plan(caller)
        changes = { saved: saved.map((party) => this.#dated(party)), deleted: [] }
        const [{ party_id: partyId }] = saved
        const outcomeOf = (made: readonly LockResult[]) => ({
          partyId,
          results: made.map((one) => resultOf(command, one)),
        })
        return { command, choices, metadata: { party_id: partyId }, outcomeOf }
      }
      const also = () => ({ name: 'saveParties' as const, input: changes })
      const onWritten = () => this.#saved(changes, [])
      return this.#reloading(this.#deps.commands.orderCarts(request, planned, { ...asking, also, onWritten }))
    })
  }

  /** Changes one party. */
  #change(callerNow: () => Caller, partyId: string, change: (party: Party, caller: Caller) => Party): Promise<Party> {
    return this.#turns.take(async () => {
      const caller = callerNow()
      const before = this.require(caller, partyId)
      const changed = change(before, caller)
      if (changed === before) return before
      const dated = this.#dated(changed)
      await this.#save({ saved: [dated], deleted: [] }, [])
      return dated
    })
  }

  #dated(party: Party): Party {
    return { ...party, updated_at: toIso(this.#deps.clock.nowMs()) }
  }

  #save(changes: PartyChanges, deleted: readonly Party[]): Promise<unknown> {
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

  #saved({ saved, deleted }: PartyChanges, removed: readonly Party[]): void {
    const { site, clock, carts } = this.#deps
    const keys = this.#live.change(saved, deleted, site.settings.minutesPerHole, clock.nowMs())
    for (const key of new Set(keys)) carts.touch(key)
    for (const party of saved) this.#deps.events.emit('partyChanged', { event: 'changed', party })
    for (const party of removed) this.#deps.events.emit('partyChanged', { event: 'removed', party })
  }

  #tick(nowMs: number): void {
    const { site, carts, clockConfirmation } = this.#deps
    for (const key of new Set(this.#live.refresh(site.settings.minutesPerHole, nowMs))) {
      carts.touch(key)
      const party = this.#live.ofCart(key)?.party
      if (party !== undefined) this.#deps.events.emit('partyChanged', { event: 'changed', party })
    }
    if (nowMs - this.#forgotAtMs > HOUR_MS) {
      this.#forgotAtMs = nowMs
      this.#live.forgetBefore(nowMs - RECENT_MS)
    }
    if (!this.#isRunning || this.#isActing || !clockConfirmation.isConfirmed || nowMs < this.#actsFromMs) return
    if (this.#dueReturns(nowMs).length > 0) this.#act('return of carts', () => this.#returnDue())
    else if (this.#names.isDue(nowMs)) this.#act('deletion of names', () => this.#deleteNames())
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
        due[i] == null ? one : { ...one, returned: due[i], returned_at: toIso(nowMs) }
      return [{ ...party, carts: party.carts.map(returned) }]
    })
  }

  async #returnDue(): Promise<void> {
    const saved = this.#dueReturns(this.#deps.clock.nowMs()).map((party) => this.#dated(party))
    if (saved.length > 0) await this.#save({ saved, deleted: [] }, [])
  }

  #deleteNames(): Promise<void> {
    const goesOn = () => this.#isRunning
    return this.#names.run((saved) => this.#saved({ saved, deleted: [] }, []), goesOn)
  }
}

function seesAll(caller: Caller): boolean {
  return visibleHardwareIds(caller) === undefined
}

/** A cart without a device that can be unlocked is given out anyway. Throws for other reasons: all carts or none. */
function resultOf(command: PartyOrder['command'], result: LockResult): PartyResultJson {
  const { cart } = result
  if ('commandId' in result) return { cart, command_id: result.commandId }
  const isGiven = command === UNLOCK && result.code === 'unsupported_command'
  if (isGiven || result.code === NO_COMMAND) return { cart, command_id: null }
  if (command === UNLOCK) throw new ConflictError(result.code, `cart ${cart} cannot be unlocked now`)
  return result
}

function fieldError(kind: AppError['kind'], code: string, name: string, detail: string): AppError {
  const errors = [{ in: 'body' as const, name, code, detail }]
  return kind === 'invalid'
    ? new InvalidRequestError(code, `${name}: ${detail}`, errors)
    : new AppError(kind, code, detail, { errors })
}

function withoutOldest(carts: readonly HandedOut[]): HandedOut[] {
  const extra = carts.length - HANDED_OUT_MAX
  const oldest = new Set(extra <= 0 ? [] : carts.filter((one) => !isOut(one)).slice(0, extra))
  return carts.filter((one) => !oldest.has(one))
}
