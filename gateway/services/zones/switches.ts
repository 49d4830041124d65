import { GATEWAY } from '#domain/origin.ts'
import type { Events } from '#gateway/events.ts'
import { describeError, InvalidRequestError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { closingMs } from '#shared/site/opening-hours.ts'
import type { Clock } from '#shared/time.ts'
import type { AuditContext } from '../audit-context.ts'
import type { Site } from '../site.ts'
import type { ZoneSelection, Zones, ZonesChange } from './zones.ts'

interface ZoneSwitchesDeps {
  zones: Pick<Zones, 'switch' | 'expireOverrides' | 'reread'>
  site: Pick<Site, 'calendar' | 'timeZone'>
  events: Events
  origins: Pick<AuditContext, 'run'>
  clock: Clock
  log: Log
}

/** Temporary overrides, with which staff turn zones on or off: removes expired ones at the start and at each tick. */
export class ZoneSwitches implements Component {
  readonly #deps: ZoneSwitchesDeps
  #isRunning = false
  #undoing: Promise<void> | undefined
  #hasFailed = false

  constructor(deps: ZoneSwitchesDeps) {
    this.#deps = deps
  }

  async start(): Promise<void> {
    const { events, clock, zones } = this.#deps
    this.#isRunning = true
    events.on('erased', ({ table }) => {
      if (table === 'zone_set') zones.reread()
    })
    await this.#undo(clock.nowMs())
    events.on('cartsEvaluated', ({ nowMs }) => {
      if (this.#isRunning) this.#undoing ??= this.#undo(nowMs)
    })
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    await this.#undoing
  }

  /**
   * Sets overrides. Without an end they last until closing, or else to the end of the day; null means until the next
   * change. Throws `invalid_field` for an end in the past, `zone_not_found`, and the errors of `Zones.switch`.
   */
  async switch(
    selection: ZoneSelection,
    { isEnabled, wantedMs, by }: { isEnabled: boolean; wantedMs?: number | null | undefined; by: ZonesChange['by'] },
  ): Promise<{ version: number; zoneIds: string[]; untilMs: number | null }> {
    const untilMs = wantedMs === null ? null : this.#untilMs(wantedMs)
    return { ...(await this.#deps.zones.switch(selection, { isEnabled, untilMs, by })), untilMs }
  }

  #untilMs(wantedMs: number | undefined): number {
    const { site, clock } = this.#deps
    const nowMs = clock.nowMs()
    if (wantedMs === undefined) return closingMs(site.calendar, site.timeZone, nowMs)
    if (wantedMs > nowMs) return wantedMs
    const detail = 'must be in the future'
    throw new InvalidRequestError('invalid_field', `until: ${detail}`, [
      { in: 'body', name: 'until', code: 'invalid_field', detail },
    ])
  }

  /** Never rejects. */
  async #undo(nowMs: number): Promise<void> {
    const { zones, origins, log } = this.#deps
    try {
      await origins.run(GATEWAY, () => zones.expireOverrides(nowMs))
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed)
        log.warn({ reason: describeError(error) }, 'removing expired zone overrides failed; will retry')
      this.#hasFailed = true
    }
    this.#undoing = undefined
  }
}
