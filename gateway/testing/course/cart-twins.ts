import assert from 'node:assert/strict'
import { packSample } from '#domain/latest-state.ts'
import type { Sample } from '#domain/telemetry.ts'
import { NO_SWITCHES } from '#domain/zone-switches.ts'
import { Events, type GatewayEvents } from '#gateway/events.ts'
import type { CartNotes } from '#services/cart.ts'
import { Carts } from '#services/carts/carts.ts'
import type { Device } from '#services/fleet.ts'
import { Fleet } from '#services/fleet.ts'
import { copyReported, moveOn } from '#services/ingest/reported-draft.ts'
import { crossingOf, crossings } from '#services/ingest/zone-crossings.ts'
import { ZoneSets } from '#services/zone-sets.ts'
import { createLog } from '#shared/log.ts'
import { DEFAULT_SITE_SETTINGS, type SiteSettings, tripDefaultsOf } from '#shared/site/settings.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { SiteZone } from '#shared/zones/zone.ts'
import type { Store } from '#store/store.ts'
import { SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'

const NO_NOTES: CartNotes = { outOfService: null, exempt: null, note: null }
const LATEST_MS = Date.UTC(2100, 0, 1)

/** What a device says in one message; what is absent it does not say. */
interface Saying {
  lat?: number
  speedKmh?: number
  voltageV?: number
  isLocked?: boolean
  /** So much before it comes it was measured. */
  agoMs?: number
}

/**
 * Two registers of the same carts: `lazy` as it is, `eager` one that judges every cart whenever it looks, for it never finds the same
 * settings. Whatever happens they must say the same.
 */
export class CartTwins {
  readonly clock = new FakeClock()
  readonly fleet = new Fleet()
  readonly zones = new ZoneSets()
  readonly notes = new Map<string, CartNotes>()
  settings: SiteSettings = DEFAULT_SITE_SETTINGS
  readonly #store: Store
  #zoneVersion = 0
  #eventCount = 0
  #lazy: Twin
  #eager: Twin

  private constructor(store: Store) {
    this.#store = store
    this.#lazy = new Twin(this, store, () => this.settings)
    this.#eager = new Twin(this, store, () => ({ ...this.settings }))
  }

  /** `cartOf` says in which cart each device is, by hardware id. */
  static async open(store: Store, cartOf: Readonly<Record<string, string>>): Promise<CartTwins> {
    const twins = new CartTwins(store)
    for (const [hardwareId, cart] of Object.entries(cartOf)) {
      const row = await store.write('createDevice', {
        ...{
          hardwareId,
          cart,
          deviceType: hardwareId.includes('lock') ? 'teebox' : 'cartcaddie',
          name: null,
        },
        ...{ groupId: null, mqttPasswordHash: 'x', nowMs: twins.clock.nowMs() },
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

  /** How often the lazy one asked which zones there are. */
  get lazilyAsked(): number {
    return this.#lazy.asked
  }

  /** All carts are judged, and found to be the same. */
  beat(): void {
    for (const { carts } of this.#both()) carts.beat()
    this.#compare()
  }

  /** Somebody asks for all carts, or for one. */
  ask(key?: string): void {
    const [one] = this.#both()
    const cart = key === undefined ? undefined : one?.carts.find(key)
    if (cart !== undefined) one?.carts.judgeNow(cart)
    for (const { carts } of this.#both()) carts.allNow()
    this.#compare()
  }

  say(device: Device, { lat, speedKmh, voltageV, isLocked, agoMs = 0 }: Saying): void {
    const nowMs = this.clock.nowMs()
    const latestMs = this.latestEventMs(nowMs)
    const values = {
      ...(lat === undefined ? {} : { lat, long: 0 }),
      ...(isLocked === undefined ? {} : { lock_status: isLocked ? 1 : 0 }),
      ...(voltageV === undefined ? {} : { battery_voltage: voltageV }),
    }
    const none = Number.NaN
    const sample: Sample = {
      ...{ atMs: nowMs - agoMs, lat: lat ?? none, long: lat === undefined ? none : 0, values },
      ...{ speedKmh: speedKmh ?? none, voltageV: voltageV ?? none },
    }
    const draft = copyReported(device.reported)
    moveOn(draft, [sample], nowMs, latestMs)
    const content = { samples: [sample] }
    const message = { device, liveFromMs: nowMs - 5 * MINUTE_MS, latestMs, content }
    const seen = crossings(draft.watch, this.zones.watchedOf(device.row.groupId), message)
    device.reported = { ...draft, watch: seen.state, updatedAtMs: nowMs, lastRespondedAtMs: nowMs }
    const numbers = new Float64Array(SAMPLE_NUMBERS)
    packSample(numbers, 0, device.row.deviceId, sample)
    this.tell('heard', { hardwareId: device.row.hardwareId })
    this.tell('sampled', { device, numbers, latestMs })
    for (const row of seen.events) this.tell('zoneCrossed', crossingOf(row))
  }

  /** It says good-bye for a while, or that it is awake. */
  saySleep(device: Device, isAsleep: boolean): void {
    const lastRespondedAtMs = this.clock.nowMs()
    const { state } = device.reported
    const status = { r: isAsleep ? 'sleep' : 'boot' }
    device.reported = { ...device.reported, lastRespondedAtMs, state: { ...state, status } }
    this.tell('heard', { hardwareId: device.row.hardwareId })
  }

  sayLock(device: Device, isLocked: boolean): void {
    this.say(device, { isLocked })
    this.tell('lockChanged', {
      ...{ hardwareId: device.row.hardwareId, eventId: `e${++this.#eventCount}`, metadataJson: null },
      ...{ event: isLocked ? 'lock' : 'unlock', source: 'rfid', code: '1', commandId: null },
      atMs: this.clock.nowMs(),
    })
  }

  connect(device: Device, isOnline: boolean): void {
    device.isOnline = isOnline
    this.tell('presenceChanged', {
      hardwareId: device.row.hardwareId,
      isOnline,
      atMs: this.clock.nowMs(),
    })
  }

  /** Its history is deleted. */
  eraseHistory(device: Device): void {
    device.reported = { ...device.reported, gps: null, battery: null }
  }

  change(device: Device, fields: Partial<Device['row']>): void {
    device.row = { ...device.row, ...fields }
    this.tell('deviceChanged', { hardwareId: device.row.hardwareId })
  }

  /** Draws the zones of the site. */
  draw(zones: readonly SiteZone[]): void {
    this.zones.setSite({ version: ++this.#zoneVersion, zones, switches: NO_SWITCHES })
  }

  tell<Name extends keyof GatewayEvents>(name: Name, event: GatewayEvents[Name]): void {
    for (const { events } of this.#both()) events.emit(name, event)
  }

  latestEventMs(nowMs: number): number {
    return this.clock.isTrusted ? nowMs + 5 * MINUTE_MS : LATEST_MS
  }

  /** Notes as `CartNotebook` has them. */
  notesOf(cart: string, nowMs: number): CartNotes {
    const notes = this.notes.get(cart) ?? NO_NOTES
    if (notes.exempt === null || notes.exempt.untilMs > nowMs) return notes
    const without = { ...notes, exempt: null }
    this.notes.set(cart, without)
    return without
  }

  async restart(): Promise<void> {
    for (const { carts } of this.#both()) await carts.stop()
    for (const device of this.devices) device.isOnline = false
    this.#lazy = new Twin(this, this.#store, () => this.settings)
    this.#eager = new Twin(this, this.#store, () => ({ ...this.settings }))
    await this.#start()
  }

  async stop(): Promise<void> {
    for (const { carts } of this.#both()) await carts.stop()
  }

  async #start(): Promise<void> {
    for (const { carts } of this.#both()) await carts.start()
    this.#compare()
  }

  #both(): readonly Twin[] {
    return [this.#lazy, this.#eager]
  }

  #compare(): void {
    assert.deepEqual(this.#lazy.carts.all, this.#eager.carts.all)
    assert.deepEqual(this.#lazy.told.splice(0).sort(), this.#eager.told.splice(0).sort())
  }
}

/** One of them, and of which carts it has told. */
class Twin {
  readonly events: Events
  readonly carts: Carts
  readonly told: string[] = []
  asked = 0

  constructor(twins: CartTwins, store: Store, settings: () => SiteSettings) {
    const { clock, fleet, zones } = twins
    const log = createLog('silent')
    this.events = new Events(log)
    const startedMs = clock.monotonicMs()
    this.carts = new Carts({
      ...{ store, fleet, log, events: this.events },
      users: { find: () => undefined },
      geofences: {
        watchedOf: (groupId) => {
          this.asked++
          return zones.watchedOf(groupId)
        },
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
        of: (cart, nowMs) => twins.notesOf(cart, nowMs),
      },
      clock: {
        nowMs: () => clock.nowMs(),
        monotonicMs: () => clock.monotonicMs(),
        latestEventMs: (nowMs) => twins.latestEventMs(nowMs),
      },
      startedAtMs: () => clock.nowMs() - clock.monotonicMs() + startedMs,
    })
    this.events.on('cartChanged', ({ cart }) => this.told.push(cart.key))
    this.events.on('cartRemoved', ({ key }) => this.told.push(`no ${key}`))
  }
}
