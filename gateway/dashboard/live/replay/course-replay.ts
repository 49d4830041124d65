import { type ReadonlySignal, signal } from '@preact/signals-core'
import type { ApiClient } from '#shared/client.ts'
import { HOUR_MS, toIso } from '#shared/time.ts'
import type { Span } from './playback.ts'
import { ReplayFleet } from './replay-fleet.ts'
import type { ReplayZones } from './replay-zones.ts'
import { ReplayedCart, type ReplayedDevice, type ReplaySettings } from './replayed-cart.ts'
import { trackOf } from './track.ts'

/** Rules by which carts are evaluated; a group's zones count for its devices. */
export interface ReplayRules {
  zones: ReplayZones
  settings: ReplaySettings
  groupOf: (hardwareId: string) => number | null
}

interface ReplayDeps {
  api: Pick<ApiClient, 'call'>
  /** Called with true while the data to show is still loading. */
  onWait: (isWaiting: boolean) => void
  setTimer?: (action: () => void, ms: number) => unknown
}

/** Length of the part of a day that is read with one request. */
const WINDOW_MS = HOUR_MS
/** Number of recently shown windows to keep: some megabytes for two hundred carts. */
const WINDOWS_MAX = 8
/** Delay of requests, so that dragging the slider sends none. */
const SETTLED_MS = 150

type Windowed = ReadonlyMap<string, readonly Omit<ReplayedDevice, 'groupId'>[]>

/** Replays the whole course at any moment of a day: an hour is read when it is shown, and the next one in advance. */
export class CourseReplay {
  readonly fleet = new ReplayFleet()
  readonly #deps: Required<ReplayDeps>
  readonly #span: Span
  readonly #windows = new Map<number, Windowed>()
  readonly #fault = signal<unknown>(null)
  readonly #hasGaps = signal(false)
  #rules: ReplayRules | null = null
  #shown: Windowed | null = null
  #atMs: number
  #reading: { startMs: number; stop: AbortController } | null = null
  #settling = 0

  constructor(deps: ReplayDeps, span: Span) {
    this.#deps = { setTimer: (action, ms) => setTimeout(action, ms), ...deps }
    this.#span = span
    this.#atMs = span.fromMs
  }

  /** Error of reading the data to show; null if none. */
  get fault(): ReadonlySignal<unknown> {
    return this.#fault
  }

  /** True if records may be missing because they lie in damaged blocks. */
  get hasGaps(): ReadonlySignal<boolean> {
    return this.#hasGaps
  }

  stop(): void {
    this.#settling++
    this.#reading?.stop.abort()
    this.#reading = null
  }

  set rules(rules: ReplayRules) {
    this.#rules = rules
    this.#shown = null
    this.show(this.#atMs)
  }

  show(atMs: number): void {
    this.#atMs = atMs
    const startMs = this.#startOf(atMs)
    const known = this.#windows.get(startMs)
    this.#deps.onWait(known === undefined)
    if (known === undefined) {
      this.#settle()
      return
    }
    // moves it to the end as the most recently used
    this.#windows.delete(startMs)
    this.#windows.set(startMs, known)
    if (known !== this.#shown) this.#take(known)
    this.fleet.show(atMs)
    const nextMs = startMs + WINDOW_MS
    if (nextMs <= this.#span.toMs && !this.#windows.has(nextMs) && this.#reading === null) void this.#read(nextMs)
  }

  /** Retries the failed read. */
  again(): void {
    this.#fault.value = null
    this.show(this.#atMs)
  }

  #settle(): void {
    const settling = ++this.#settling
    this.#deps.setTimer(() => {
      if (settling !== this.#settling) return
      const startMs = this.#startOf(this.#atMs)
      if (this.#windows.has(startMs) || this.#reading?.startMs === startMs) return
      this.#reading?.stop.abort()
      void this.#read(startMs)
    }, SETTLED_MS)
  }

  async #read(startMs: number): Promise<void> {
    const stop = new AbortController()
    this.#reading = { startMs, stop }
    const query = {
      from: toIso(startMs),
      to: toIso(Math.min(this.#span.toMs, startMs + WINDOW_MS - 1)),
    }
    try {
      const answer = await this.#deps.api.call('GET /replay', { query, signal: stop.signal })
      if (stop.signal.aborted) return
      const carts = new Map<string, Omit<ReplayedDevice, 'groupId'>[]>()
      for (const { cart, hardware_id, device_type, gps } of answer.devices) {
        const device = { hardwareId: hardware_id, deviceType: device_type, track: trackOf(gps, startMs) }
        carts.set(cart, [...(carts.get(cart) ?? []), device])
      }
      if (answer.warnings !== undefined) this.#hasGaps.value = true
      this.#keep(startMs, carts)
      this.#fault.value = null
    } catch (error) {
      if (stop.signal.aborted) return
      // a failed read in advance is repeated when its data is needed
      if (startMs === this.#startOf(this.#atMs)) this.#fault.value = error
    } finally {
      if (this.#reading?.stop === stop) this.#reading = null
    }
    if (this.#fault.value === null) this.show(this.#atMs)
  }

  #keep(startMs: number, window: Windowed): void {
    this.#windows.set(startMs, window)
    for (const oldMs of this.#windows.keys()) {
      if (this.#windows.size <= WINDOWS_MAX) break
      this.#windows.delete(oldMs)
    }
  }

  #take(window: Windowed): void {
    const rules = this.#rules
    if (rules === null) return
    this.#shown = window
    this.fleet.take(
      [...window].map(([cart, devices]) => {
        const grouped = devices.map((device) => ({ ...device, groupId: rules.groupOf(device.hardwareId) }))
        return new ReplayedCart(cart, grouped, rules)
      }),
    )
  }

  #startOf(atMs: number): number {
    return this.#span.fromMs + Math.floor((atMs - this.#span.fromMs) / WINDOW_MS) * WINDOW_MS
  }
}
