import { setTimeout as wait } from 'node:timers/promises'
import { SyncAgent } from '#agent/agent.ts'
import { HttpExchange } from '#agent/http-exchange.ts'
import { grouped } from '#scripts/cli/progress.ts'
import { createLog } from '#shared/log.ts'
import { createRandom } from '#shared/random.ts'
import { systemClock } from '#shared/time.ts'
import { type Fleet, type FleetScreen, startWork, stopped } from '../fleet.ts'
import { SharedCarts, SiteDevices } from './carts.ts'
import { lagText, SitesFigures } from './figures.ts'
import { type SiteKey, siteKeys } from './keys.ts'
import { SiteLog } from './log.ts'
import type { SitesOptions } from './options.ts'

/** Simulated site: an agent as in a gateway, with samples in memory. */
export interface Site {
  readonly siteId: string
  readonly devices: SiteDevices
  readonly log: SiteLog
  readonly agent: SyncAgent
}

const MEASURE_MS = 1_000
const TICK_MS = 50
const STATUS_MS = 5_000
/** Time for sending the last measurements, if the hub accepts them. */
const DRAIN_MS = 20_000
const LONGEST_BACKOFF_MS = 60_000

/** Creates the sites at the hub, then replicates until stopped or until the duration is over, and sends the rest. */
export function startSites(options: SitesOptions, screen: FleetScreen): Fleet & { readonly figures: SitesFigures } {
  const figures = new SitesFigures()
  return { ...startWork((stopping) => run(options, screen, figures, stopping)), figures }
}

async function run(
  options: SitesOptions,
  screen: FleetScreen,
  figures: SitesFigures,
  stopping: AbortSignal,
): Promise<'finished'> {
  const { hubUrl, sites: count, devices, durationS, intervalS, seed } = options
  const keys = await siteKeys(options, stopping)
  screen.line(`${count} sites with ${devices} devices each replicate to ${hubUrl}`)
  const exchange = new HttpExchange(new URL(hubUrl), options.sockets)
  const carts = new SharedCarts(devices, seed)
  const sites = keys.map((key, i) => createSite(key, i, { options, carts, figures, exchange }))
  const finishing = new AbortController()
  const timer = setInterval(measureAll(sites, carts), TICK_MS)
  const status = statusLine(sites, figures)
  const lines = setInterval(() => screen.line(status()), STATUS_MS)
  const { next: random } = createRandom(seed, 'start')
  try {
    // staggered, so that sites do not push in step
    const starts = sites.map(async ({ agent }) => {
      await stopped(finishing.signal, random() * intervalS)
      await agent.start()
      // all measurements up to now have waited long enough
      void agent.flush(finishing.signal)
    })
    await stopped(stopping, durationS)
    clearInterval(timer)
    finishing.abort()
    await Promise.all(starts)
    await drain(sites)
  } finally {
    clearInterval(timer)
    clearInterval(lines)
    await Promise.all(sites.map(({ agent }) => agent.stop()))
    exchange.close()
  }
  screen.line(summary(sites, figures))
  return 'finished'
}

interface SiteParts {
  readonly options: Pick<SitesOptions, 'hubUrl' | 'isInsecureAllowed' | 'seed' | 'intervalS'>
  readonly carts: SharedCarts
  readonly figures: SitesFigures
  /** Connections that all sites share. */
  readonly exchange: HttpExchange
}

/** `index` counts from 0. */
export function createSite({ siteId, key }: SiteKey, index: number, parts: SiteParts): Site {
  const { options, carts, figures, exchange } = parts
  const { hubUrl: url, isInsecureAllowed, seed, intervalS } = options
  const devices = new SiteDevices(carts, seed, index, systemClock.nowMs())
  const log = new SiteLog(devices.hardwareIds(), figures)
  const agent = new SyncAgent({
    source: log,
    latest: devices,
    site: siteId,
    dataDir: undefined,
    upstream: { url, key, isInsecureAllowed, exchange },
    // the first sample of an interval starts the wait for the others
    holdMs: Math.max(0, intervalS * 1000 - MEASURE_MS),
    longestBackoffMs: LONGEST_BACKOFF_MS,
    program: 'cartbarn simulate',
    clock: { ...systemClock, isTrusted: true },
    log: createLog('silent'),
    isBusy: () => false,
    random: createRandom(seed, 'agent', index).next,
  })
  return { siteId, devices, log, agent }
}

/** Measures at each site once a second, spread over the second. Samples carry the time they were due at. */
function measureAll(sites: readonly Site[], carts: SharedCarts): () => void {
  const startedAtMs = systemClock.nowMs()
  let measured = 0
  return () => {
    const nowMs = systemClock.nowMs()
    for (;;) {
      const site = sites[measured % sites.length]
      const dueAtMs = startedAtMs + Math.floor((measured * MEASURE_MS) / sites.length)
      if (site === undefined || dueAtMs > nowMs) return
      site.log.add(site.devices.measure(dueAtMs))
      measured += 1
      if (measured % sites.length === 0) carts.step()
    }
  }
}

/** Sends the remaining data of the sites, as long as the hub accepts it. */
export async function drain(sites: readonly Site[]): Promise<void> {
  const patience = AbortSignal.timeout(DRAIN_MS)
  const drains = sites.map(async ({ log, agent }) => {
    while (log.rows > 0 && !patience.aborted) {
      await agent.flush(patience)
      await wait(TICK_MS)
    }
  })
  await Promise.race([Promise.all(drains), stopped(patience, undefined)])
}

function statusLine(sites: readonly Site[], figures: SitesFigures): () => string {
  let rowsBefore = 0
  return () => {
    const up = sites.filter(({ agent }) => agent.status.retryInMs === null).length
    const perSecond = (figures.rows - rowsBefore) / (STATUS_MS / 1000)
    rowsBefore = figures.rows
    return (
      `${up}/${sites.length} sites up  ${grouped(perSecond)} rows/s  ${figures.takeRecentLag()}  ` +
      `waiting ${grouped(sum(sites, ({ log }) => log.rows))}  ${troubles(sites, figures)}`
    )
  }
}

function summary(sites: readonly Site[], figures: SitesFigures): string {
  const left = sum(sites, ({ log }) => log.rows)
  const { rows, pushes, forgottenRows: forgotten, lag } = figures
  return (
    `Stopped: ${grouped(rows)} rows acknowledged in ${pushes} pushes, ` +
    `${left} not acknowledged${forgotten > 0 ? `, ${forgotten} forgotten` : ''}; ${lagText(lag)}; ` +
    troubles(sites, figures)
  )
}

/** Formats the failures and refusals of the hub, as counted by the agents. */
export function troubles(sites: readonly Site[], { forks }: SitesFigures): string {
  const count = (...reasons: readonly string[]) =>
    sum(reasons, (reason) => sum(sites, ({ agent }) => agent.failures.get(reason)))
  const [last] = sites
    .flatMap(({ siteId, agent }) => ({ siteId, ...(agent.status.lastError ?? { atMs: 0, detail: '' }) }))
    .toSorted((a, b) => b.atMs - a.atMs)
  return (
    `refused ${count('refused', 'rejected', 'too_large', 'foreign_epoch')}  busy ${count('busy', 'unavailable')}  ` +
    `failed ${count('network', 'timeout', 'bad_answer')}  conflicts ${count('cursor')}  forks ${forks}` +
    (last === undefined || last.detail === '' ? '' : `  last error: ${last.siteId}: ${last.detail}`)
  )
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}
