import { isDeepStrictEqual } from 'node:util'
import type { Events } from '#gateway/events.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { InvalidRequestError } from '#shared/errors.ts'
import { Calendar } from '#shared/site/opening-hours.ts'
import { DEFAULT_SITE_SETTINGS, type SiteSettings, tripDefaultsOf } from '#shared/site/settings.ts'
import { TimeZone } from '#shared/site/time-zone.ts'
import type { Clock } from '#shared/time.ts'
import type { TripConfig } from '#shared/trips/config.ts'
import type { SiteSettingsPatch } from '#shared/wire/site.ts'
import { patchSiteSettings } from '#shared/wire/site-json.ts'
import type { Store } from '#store/store.ts'

interface SiteDeps {
  store: Pick<Store, 'read' | 'write'>
  events: Events
  clock: Clock
}

/** Settings of the site in memory, with values derived from them. */
export class Site {
  readonly #deps: SiteDeps
  readonly #turns = new SerialQueue()
  #settings: SiteSettings = DEFAULT_SITE_SETTINGS
  #timeZone = new TimeZone(DEFAULT_SITE_SETTINGS.timeZone)
  #calendar = new Calendar(this.#timeZone, null)

  constructor(deps: SiteDeps) {
    this.#deps = deps
  }

  load(): void {
    this.#set(this.#deps.store.read.siteSettings())
  }

  get settings(): SiteSettings {
    return this.#settings
  }

  get timeZone(): TimeZone {
    return this.#timeZone
  }

  get calendar(): Calendar {
    return this.#calendar
  }

  get tripDefaults(): TripConfig {
    return tripDefaultsOf(this.#settings)
  }

  /** Throws `invalid_field` for voltages in the wrong order. */
  change(patch: SiteSettingsPatch): Promise<SiteSettings> {
    const { store, events, clock } = this.#deps
    return this.#turns.take(async () => {
      const settings = patchSiteSettings(this.#settings, patch)
      requireOrder(settings)
      if (isDeepStrictEqual(settings, this.#settings)) return settings
      await store.write('saveSite', { settings, nowMs: clock.nowMs() }, () => this.#set(settings))
      events.emit('siteChanged', { settings })
      return settings
    })
  }

  #set(settings: SiteSettings): void {
    this.#settings = settings
    this.#timeZone = new TimeZone(settings.timeZone)
    this.#calendar = new Calendar(this.#timeZone, settings.openingHours)
  }
}

function requireOrder({ pack: { emptyV, lowV, fullV } }: SiteSettings): void {
  const known = [emptyV, lowV, fullV].filter((volts) => volts !== null)
  if (known.every((volts, i) => i === 0 || volts > (known[i - 1] ?? 0))) return
  const detail = 'empty_v must be below low_v, and low_v below full_v'
  throw new InvalidRequestError('invalid_field', `pack: ${detail}`, [
    { in: 'body', name: 'pack', code: 'invalid_field', detail },
  ])
}
