import { type ReadonlySignal, signal } from '@preact/signals-core'
import { ApiClient } from '#shared/client.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import type { MeJson } from '#shared/wire/sessions.ts'
import { Fleet } from './fleet.ts'
import { GatewayClock } from './gateway-clock.ts'
import { Line } from './line.ts'
import { Router } from './route.ts'

type Site = MeJson['site']

/** Everything the screens show and do: one for the page. */
export class Dashboard {
  readonly api = new ApiClient({ url: '' })
  readonly clock = new GatewayClock()
  readonly fleet = new Fleet()
  readonly router = new Router()
  readonly line = new Line({
    open: () => new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/realtime`),
    clock: this.clock,
    take: (message) => this.#take(message),
  })
  readonly #me = signal<MeJson | null>(null)
  readonly #site = signal<Site>({ name: '', time_zone: 'UTC', units: 'metric', language: 'en' })
  readonly #listeners = new Set<(message: ServerMessage) => void>()
  readonly #second = signal(0)

  /** Who is signed in; null for nobody. */
  get me(): ReadonlySignal<MeJson | null> {
    return this.#me
  }

  get site(): ReadonlySignal<Site> {
    return this.#site
  }

  /** Grows once a second while the line is live: ages are counted anew then, and stand still while it is gone. */
  get second(): ReadonlySignal<number> {
    return this.#second
  }

  start(): void {
    this.router.start()
    setInterval(() => {
      if (this.line.state.value.kind === 'live') this.#second.value++
    }, 1_000)
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') this.line.hurry()
    })
    addEventListener('online', () => this.line.hurry())
  }

  /** Signed in: what `GET /me` said. */
  enter(me: MeJson): void {
    const isOther = this.#me.value?.session?.session_id !== me.session?.session_id
    this.#me.value = me
    this.#site.value = me.site
    if (isOther || this.line.state.value.kind === 'ended') this.line.start()
  }

  leave(): void {
    this.line.stop()
    this.fleet.clear()
    this.#me.value = null
  }

  /** Every message of the line, as it comes; ends with what it returns. */
  listen(listener: (message: ServerMessage) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #take(message: ServerMessage): void {
    this.fleet.take(message)
    if (message.type === 'site_changed') {
      const { name, time_zone, units, language } = message.site
      this.#site.value = { name, time_zone, units, language }
    }
    for (const listener of this.#listeners) listener(message)
  }
}
