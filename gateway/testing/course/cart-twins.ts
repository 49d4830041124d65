import assert from 'node:assert/strict'
import type { Caller } from '#domain/access.ts'
import { packSample } from '#domain/latest-state.ts'
import type { Sample } from '#domain/telemetry.ts'
import { NO_SWITCHES } from '#domain/zone-switches.ts'
import { Events, type GatewayEvents } from '#gateway/events.ts'
import { Alerts } from '#services/alerts/alerts.ts'
import { NO_PLAY } from '#services/alerts/site-context.ts'
import { type CartNotes, NO_NOTES } from '#services/cart.ts'
import { Carts } from '#services/carts/carts.ts'
import type { Device } from '#services/fleet.ts'
import { Fleet } from '#services/fleet.ts'
import { applySamples, copyReported } from '#services/ingest/apply-samples.ts'
import { crossingOf, crossings } from '#services/ingest/zone-crossings.ts'
import { ZoneSets } from '#services/zones/sets.ts'
import { createLog } from '#shared/log.ts'
import { Calendar } from '#shared/site/opening-hours.ts'
import { DEFAULT_SITE_SETTINGS, type SiteSettings, tripDefaultsOf } from '#shared/site/settings.ts'
import { TimeZone } from '#shared/site/time-zone.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { SiteZone } from '#shared/zones/zone.ts'
import type { Store } from '#store/store.ts'
import { SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'

const ADMIN: Caller = { userId: 'a', role: 'admin', allowedHardwareIds: null }
const LATEST_MS = Date.UTC(2100, 0, 1)

/** Stores of the carts, and of the alerts of each list; without the latter no alert opens. */
interface PairStores {
  carts: Store
  alerts?: { lazy: Store; eager: Store }
}

/** Content of one message of a device; absent fields are not reported. */
interface Report {
  lat?: number
  speedKmh?: number
  voltageV?: number
  isLocked?: boolean
  /** Age of the measurement at its arrival. */
  agoMs?: number
}

/**
 * Two lists of the same carts: `lazy` as in the gateway, `eager` one that evaluates every cart in every pass, because
 * its settings are never the same object. Both must always give the same results.
 */
export class CartTwins {
  readonly clock = new FakeClock()
  readonly fleet = new Fleet()
  readonly zones = new ZoneSets()
  readonly notes = new Map<string, CartNotes>()
  settings: SiteSettings = DEFAULT_SITE_SETTINGS
  readonly #stores: PairStores
  #zoneVersion = 0
  #eventCount = 0
  #lazy: Twin
  #eager: Twin

  private constructor(stores: PairStores) {
    this.#stores = stores
    const { carts, alerts } = stores
    this.#lazy = new Twin(this, { carts, alerts: alerts?.lazy }, () => this.settings)
    this.#eager = new Twin(this, { carts, alerts: alerts?.eager }, () => ({ ...this.settings }))
  }

  /** Creates the devices; `cartOf` maps their hardware ids to carts. */
  static async open(stores: PairStores, cartOf: Readonly<Record<string, string>>): Promise<CartTwins> {
    const twins = new CartTwins(stores)
    for (const store of Object.values(stores.alerts ?? {})) await endAlerts(store)
    for (const [hardwareId, cart] of Object.entries(cartOf)) {
      const row = await stores.carts.write('createDevice', {
        hardwareId,
        cart,
        deviceType: hardwareId.includes('lock') ? 'teebox' : 'cartcaddie',
        name: null,
        groupId: null,
        mqttPasswordHash: 'x',
        nowMs: twins.clock.nowMs(),
        publication: { version: null, sessionChanges: [] },
      })
      twins.fleet.add(row)
    }
    await twins.#start()
    return twins
  }

  get devices(): readonly Device[] {
    return this.fleet.all()
  }

  /**
   * Number of times that the lazy list read the notes of a cart: once per pass, and once more when it evaluates the
   * cart.
   */
  get lazilyAsked(): number {
    return this.#lazy.asked
  }

  /** Evaluates all carts, and checks that the carts and the alerts of both lists are the same. */
  async tick(): Promise<void> {
    for (const { carts } of this.#both()) carts.tick()
    for (const { alerts } of this.#both()) await alerts?.settle()
    this.#compare()
    const [lazy, eager] = this.#both().map(({ warned }) => warned.splice(0))
    assert.deepEqual(lazy, eager)
  }

  /** Requests all carts, or one. */
  ask(key?: string): void {
    const [one] = this.#both()
    const cart = key === undefined ? undefined : one?.carts.find(key)
    if (cart !== undefined) one?.carts.evaluateNow(cart)
    for (const { carts } of this.#both()) carts.allNow()
    this.#compare()
  }

  say(device: Device, { lat, speedKmh, voltageV, isLocked, agoMs = 0 }: Report): void {
    const nowMs = this.clock.nowMs()
    const latestMs = this.latestEventMs(nowMs)
    const values = {
      ...(lat === undefined ? {} : { lat, long: 0 }),
      ...(isLocked === undefined ? {} : { lock_status: isLocked ? 1 : 0 }),
      ...(voltageV === undefined ? {} : { battery_voltage: voltageV }),
    }
    const none = Number.NaN
    const sample: Sample = {
      atMs: nowMs - agoMs,
      lat: lat ?? none,
      long: lat === undefined ? none : 0,
      values,
      speedKmh: speedKmh ?? none,
      voltageV: voltageV ?? none,
    }
    const draft = copyReported(device.reported)
    applySamples(draft, [sample], nowMs, latestMs)
    const message = { device, liveFromMs: nowMs - 5 * MINUTE_MS, latestMs, samples: [sample] }
    const seen = crossings(draft.watch, this.zones.watchedOf(device.row.groupId), message)
    device.reported = { ...draft, watch: seen.state, updatedAtMs: nowMs, lastRespondedAtMs: nowMs }
    const numbers = new Float64Array(SAMPLE_NUMBERS)
    packSample(numbers, 0, device.row.deviceId, sample)
    this.emit('messageAccepted', { hardwareId: device.row.hardwareId })
    this.emit('sampled', { device, numbers, recorded: numbers, isInOrder: true, latestMs })
    for (const row of seen.events) this.emit('zoneCrossed', crossingOf(row))
  }

  /** Reports that the device goes to sleep, or that it is awake. */
  saySleep(device: Device, isAsleep: boolean): void {
    const lastRespondedAtMs = this.clock.nowMs()
    const { state } = device.reported
    const status = { r: isAsleep ? 'sleep' : 'boot' }
    device.reported = { ...device.reported, lastRespondedAtMs, state: { ...state, status } }
    this.emit('messageAccepted', { hardwareId: device.row.hardwareId })
  }

  sayLock(device: Device, isLocked: boolean): void {
    this.say(device, { isLocked })
    this.emit('lockChanged', {
      hardwareId: device.row.hardwareId,
      eventId: `e${++this.#eventCount}`,
      metadataJson: null,
      event: isLocked ? 'lock' : 'unlock',
      source: 'rfid',
      code: '1',
      commandId: null,
      atMs: this.clock.nowMs(),
      liveAtMs: this.clock.nowMs(),
    })
  }

  connect(device: Device, isOnline: boolean): void {
    device.isOnline = isOnline
    this.emit('presenceChanged', {
      hardwareId: device.row.hardwareId,
      isOnline,
      atMs: this.clock.nowMs(),
    })
  }

  /** Deletes the history of the device. */
  eraseHistory(device: Device): void {
    device.reported = { ...device.reported, gps: null, battery: null }
  }

  /** Closes the alerts, as a user does. */
  async closeAlerts(): Promise<void> {
    for (const { alerts } of this.#both()) {
      for (const { alertId } of alerts?.notClosedFor(ADMIN) ?? [])
        await alerts?.close(() => ADMIN, alertId, { userId: 'a', name: 'Ann' }, null)
    }
  }

  change(device: Device, fields: Partial<Device['row']>): void {
    device.row = { ...device.row, ...fields }
    this.emit('deviceChanged', { hardwareId: device.row.hardwareId })
  }

  /** Draws the zones of the site. */
  draw(zones: readonly SiteZone[]): void {
    this.zones.setSite({ version: ++this.#zoneVersion, zones, switches: NO_SWITCHES })
  }

  emit<Name extends keyof GatewayEvents>(name: Name, event: GatewayEvents[Name]): void {
    for (const { events } of this.#both()) events.emit(name, event)
  }

  latestEventMs(nowMs: number): number {
    return this.clock.isTrusted ? nowMs + 5 * MINUTE_MS : LATEST_MS
  }

  /** Returns notes in the form of `CartNotesStore`. */
  notesOf(cart: string, nowMs: number): CartNotes {
    const notes = this.notes.get(cart) ?? NO_NOTES
    if (notes.exempt === null || notes.exempt.untilMs > nowMs) return notes
    const without = { ...notes, exempt: null }
    this.notes.set(cart, without)
    return without
  }

  async restart(): Promise<void> {
    await this.stop()
    for (const device of this.devices) device.isOnline = false
    const { carts, alerts } = this.#stores
    this.#lazy = new Twin(this, { carts, alerts: alerts?.lazy }, () => this.settings)
    this.#eager = new Twin(this, { carts, alerts: alerts?.eager }, () => ({ ...this.settings }))
    await this.#start()
  }

  async stop(): Promise<void> {
    for (const { alerts, carts } of this.#both()) {
      await alerts?.stop()
      await carts.stop()
    }
  }

  async #start(): Promise<void> {
    for (const { alerts, carts } of this.#both()) {
      alerts?.load()
      await carts.start()
      await alerts?.start()
    }
    this.#compare()
  }

  #both(): readonly Twin[] {
    return [this.#lazy, this.#eager]
  }

  #compare(): void {
    // revisions count evaluations, of which the eager list has more
    const [lazy, eager] = this.#both().map(({ carts }) => carts.all.map(({ revision: _, ...cart }) => cart))
    assert.deepEqual(lazy, eager)
    assert.deepEqual(this.#lazy.published.splice(0).sort(), this.#eager.published.splice(0).sort())
  }
}

/** Ends the alerts of an earlier course. */
async function endAlerts(store: Store): Promise<void> {
  const live = store.read.liveAlerts(Number.MAX_SAFE_INTEGER)
  const changes = live.map((alert) => ({
    event: 'closed' as const,
    sessionChanges: [],
    byUserId: null,
    alert: { ...alert, closedAtMs: alert.openedAtMs, awaitsEnd: false },
  }))
  const endedIds = live.map(({ alertId }) => alertId)
  const nothing = { idleCallSeqs: [], sessionChanges: [], closedDay: null, nowMs: 0 }
  await store.write('saveAlerts', { changes, endedIds, ...nothing })
  await store.write('deleteAlertsStep', { beforeMs: Number.MAX_SAFE_INTEGER, keepsUnsent: false })
}

/** Either of the two lists, and the carts of its events. */
class Twin {
  readonly events: Events
  readonly carts: Carts
  readonly alerts: Alerts | null
  readonly published: string[] = []
  /** Changes of alerts, in order. */
  readonly warned: unknown[] = []
  asked = 0

  constructor(twins: CartTwins, stores: { carts: Store; alerts: Store | undefined }, settings: () => SiteSettings) {
    const { clock, fleet, zones } = twins
    const log = createLog('silent')
    this.events = new Events(log)
    const startedMs = clock.monotonicMs()
    this.carts = new Carts({
      store: stores.carts,
      fleet,
      log,
      events: this.events,
      users: { find: () => undefined },
      geofences: {
        watchedOf: (groupId) => zones.watchedOf(groupId),
      },
      site: {
        get settings() {
          return settings()
        },
        get tripDefaults() {
          return tripDefaultsOf(settings())
        },
      },
      notes: {
        load: () => undefined,
        forget: () => undefined,
        carts: () => [],
        of: (cart, nowMs) => {
          this.asked++
          return twins.notesOf(cart, nowMs)
        },
      },
      clock: {
        nowMs: () => clock.nowMs(),
        monotonicMs: () => clock.monotonicMs(),
        latestEventMs: (nowMs) => twins.latestEventMs(nowMs),
      },
      startedAtMs: () => clock.nowMs() - clock.monotonicMs() + startedMs,
    })
    this.alerts = stores.alerts === undefined ? null : this.#createAlerts(stores.alerts, twins, settings)
    this.events.on('alertChanged', ({ event, alert: { kind, cart, details } }) =>
      this.warned.push({ event, kind, cart, details, atMs: clock.nowMs() }),
    )
    this.events.on('cartChanged', ({ cart }) => this.published.push(cart.key))
    this.events.on('cartRemoved', ({ key }) => this.published.push(`no ${key}`))
  }

  #createAlerts(store: Store, { clock }: CartTwins, settings: () => SiteSettings): Alerts {
    return new Alerts({
      commands: { createForEach: () => assert.fail('no call is answered here') },
      store,
      course: NO_PLAY,
      clock,
      log: createLog('silent'),
      events: this.events,
      carts: this.carts,
      users: { find: () => undefined },
      downlink: {
        prepare: () => ({ changes: [], commit: () => undefined, abandon: () => undefined }),
      },
      site: {
        get settings() {
          return settings()
        },
        calendar: new Calendar(new TimeZone('UTC'), null),
      },
      clockConfirmation: { state: 'confirmed' },
      diskGuard: { use: { state: 'ok', usedBytes: 0, budgetBytes: 0 } },
      backups: { overdue: 'over', status: null },
      sync: undefined,
      certificate: undefined,
    })
  }
}
