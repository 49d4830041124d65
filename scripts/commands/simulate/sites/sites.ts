import { HttpExchange } from '#agent/http-exchange.ts'
import { Upstream } from '#agent/upstream.ts'
import { createRandom } from '#shared/random.ts'
import { type Clock, systemClock } from '#shared/time.ts'
import { type Fleet, type FleetScreen, stopped } from '../fleet.ts'
import { SharedCarts, SiteDevices } from './carts.ts'
import { lagText, SitesFigures } from './figures.ts'
import { type SiteKey, siteKeys } from './keys.ts'
import { SiteLog } from './log.ts'
import type { SitesOptions } from './options.ts'
import { SiteSender } from './sender.ts'

/** Simulated sites at work. */
export interface Sites extends Fleet {
  readonly figures: SitesFigures
}

interface Site {
  readonly devices: SiteDevices
  readonly log: SiteLog
  readonly sender: SiteSender
}

const LOOK_MS = 1_000
const TICK_MS = 50
const STATUS_MS = 5_000
/** What was measured last is still sent, if the hub takes it in this time. */
const DRAIN_MS = 20_000

/** Makes the sites at the hub, then replicates until stopped or until the duration is over, and sends what is left. */
export function startSites(options: SitesOptions, screen: FleetScreen, clock: Clock = systemClock): Sites {
  const stopping = new AbortController()
  const figures = new SitesFigures()
  const done = run(options, screen, clock, figures, stopping.signal).catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error
  })
  return {
    done,
    figures,
    async stop() {
      stopping.abort()
      await done
    },
  }
}

async function run(
  options: SitesOptions,
  screen: FleetScreen,
  clock: Clock,
  figures: SitesFigures,
  stopping: AbortSignal,
): Promise<void> {
  const { hubUrl, sites: count, devices, durationS } = options
  const keys = await siteKeys(options, stopping)
  screen.line(`${count} sites with ${devices} devices each replicate to ${hubUrl}`)
  const exchange = new HttpExchange(new URL(hubUrl), options.sockets)
  const carts = new SharedCarts(devices, options.seed)
  const sites = keys.map((key, i) => createSite(key, i, { options, carts, figures, clock, exchange }))
  const draining = new AbortController()
  const senders = sites.map(({ sender }) => sender.run(draining.signal))
  const looks = setInterval(lookAtAll(sites, carts, clock), TICK_MS)
  const status = statusLine(sites, figures)
  const lines = setInterval(() => screen.line(status()), STATUS_MS)
  try {
    await stopped(stopping, durationS)
    clearInterval(looks)
    for (const { sender } of sites) sender.finish()
    const patience = setTimeout(() => draining.abort(), DRAIN_MS)
    await Promise.all(senders)
    clearTimeout(patience)
  } finally {
    clearInterval(looks)
    clearInterval(lines)
    draining.abort()
    exchange.close()
  }
  screen.line(summary(sites, figures))
}

interface SiteParts {
  readonly options: SitesOptions
  readonly carts: SharedCarts
  readonly figures: SitesFigures
  readonly clock: Clock
  readonly exchange: HttpExchange
}

function createSite({ siteId, key }: SiteKey, index: number, parts: SiteParts): Site {
  const { options, carts, figures, clock, exchange } = parts
  const { hubUrl: url, isInsecureAllowed, seed, intervalS } = options
  const devices = new SiteDevices(carts, seed, index, clock.nowMs())
  const log = new SiteLog(devices.hardwareIds)
  const sender = new SiteSender({
    ...{ siteId, devices, log, figures, clock },
    upstream: new Upstream({ url, key, isInsecureAllowed, exchange }),
    random: createRandom(seed, 'sender', index).next,
    intervalMs: intervalS * 1000,
  })
  return { devices, log, sender }
}

/** Measures at each site once a second, spread over the second. Samples carry the time they were due at. */
function lookAtAll(sites: readonly Site[], carts: SharedCarts, clock: Clock): () => void {
  let secondMs = clock.nowMs()
  let next = 0
  return () => {
    const nowMs = clock.nowMs()
    for (;;) {
      const site = sites[next]
      const dueAtMs = secondMs + Math.floor((next * LOOK_MS) / sites.length)
      if (site === undefined || dueAtMs > nowMs) return
      site.log.add(site.devices.measure(dueAtMs))
      next += 1
      if (next < sites.length) continue
      next = 0
      secondMs += LOOK_MS
      carts.step()
    }
  }
}

function statusLine(sites: readonly Site[], figures: SitesFigures): () => string {
  let rowsBefore = 0
  return () => {
    const up = sites.filter(({ sender }) => sender.isUp).length
    const perSecond = Math.round((figures.rows - rowsBefore) / (STATUS_MS / 1000))
    rowsBefore = figures.rows
    const waiting = sites.reduce((sum, { log }) => sum + log.rows, 0)
    return (
      `${up}/${sites.length} sites up  ${perSecond.toLocaleString('en')} rows/s  ${lagText(figures.takeRecentLag())}  ` +
      `waiting ${waiting.toLocaleString('en')}  ${troubles(figures)}`
    )
  }
}

function summary(sites: readonly Site[], figures: SitesFigures): string {
  const left = sites.reduce((sum, { log }) => sum + log.rows, 0)
  const forgotten = sites.reduce((sum, { log }) => sum + log.forgottenRows, 0)
  return (
    `Stopped: ${figures.rows.toLocaleString('en')} rows acknowledged in ${figures.pushes} pushes, ` +
    `${left} not acknowledged${forgotten > 0 ? `, ${forgotten} forgotten` : ''}; ${lagText(figures.lag)}; ` +
    troubles(figures)
  )
}

function troubles(figures: SitesFigures): string {
  const { refused, busy, failed, conflicts, forks, lastRefusal } = figures
  return (
    `refused ${refused}  busy ${busy}  failed ${failed}  conflicts ${conflicts}  forks ${forks}` +
    (lastRefusal === '' ? '' : `  last refusal: ${lastRefusal}`)
  )
}
