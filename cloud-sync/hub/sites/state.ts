import type { SiteFigures, SiteRow } from '#hub/store/site-figures.ts'
import { describeOffset, isOff } from '#shared/clock-offset.ts'
import { type Clock, DAY_MS, MINUTE_MS, type MonotonicClock, toIso } from '#shared/time.ts'
import { inGb } from '#shared/units.ts'
import { REBUILT_REASON } from '#shared/wire/replication/rebuild.ts'
import type { SiteJson, SiteState } from '#shared/wire/sites.ts'
import type { Continuity, Trust } from './continuity.ts'

/** Time without a request after which a gateway counts as silent: a connected one sends something every few seconds. */
const SILENT_MS = 2 * MINUTE_MS
const BEHIND_MS = 10 * MINUTE_MS
/** Time for which the explanation mentions a restore. */
const FORK_REPORTED_MS = 7 * DAY_MS

/** Share of the storage limit from which a site is nearly full. */
const NEARLY_FULL = 0.9

/** Time for which the state reports two gateways with one identity. */
export const TWO_GATEWAYS_SHOWN_MS = 600_000

/** State of a site: for programs, and as sentences for staff. */
export interface SiteHealth {
  readonly state: SiteState
  readonly explanation: string
  readonly warnings: SiteJson['warnings']
}

/** Current time, and the time from which reports of gateways are trusted. */
export interface HubTimes {
  readonly nowMs: number
  readonly trustedSinceMs: number
  readonly because: Trust['because']
}

/** Must be called after these sites were read. */
export async function timesOf(
  deps: { continuity: Continuity; clock: Clock; monotonicClock: MonotonicClock },
  siteIds: readonly string[],
): Promise<HubTimes> {
  const { sinceMonotonicMs, because } = await deps.continuity.trust(siteIds)
  const nowMs = deps.clock.nowMs()
  // relative to the current clock, which may have been set since
  return { nowMs, trustedSinceMs: nowMs - (deps.monotonicClock.monotonicMs() - sinceMonotonicMs), because }
}

/**
 * Derives the state of a site. The worst problem is the state; the explanation lists all problems. `maxBytes` is the
 * storage limit of the site; 0 means no limit.
 */
export function siteHealth(site: SiteRow, figures: SiteFigures, times: HubTimes, maxBytes: number): SiteHealth {
  const { nowMs } = times
  const isTwice = hasDuplicateGateway(site.two_gateways_ms, nowMs)
  const silentMs = site.last_seen_ms === null ? null : nowMs - site.last_seen_ms
  const behindMs = site.backlog_oldest_ms === null ? 0 : nowMs - site.backlog_oldest_ms
  const found: [SiteState, string][] = []
  if (isTwice) {
    found.push([
      'two_gateways',
      'Two gateways send as this site, most likely because a disk was copied. The hub keeps what both send. Stop ' +
        'one of them, or give it a site and a key of its own.',
    ])
  }
  if (silentMs === null) found.push(['never_seen', neverSeen(figures)])
  else if (silentMs > SILENT_MS) found.push(['silent', silent(site, figures, times)])
  const isFull = maxBytes > 0 && site.stored_bytes >= maxBytes
  const isNearlyFull = maxBytes > 0 && !isFull && site.stored_bytes >= maxBytes * NEARLY_FULL
  if (isFull) found.push(['full', full(site, figures, maxBytes)])
  if (figures.quarantined > 0) {
    found.push([
      'quarantined',
      `The hub could not read ${count(figures.quarantined, 'piece')} of its data: see the quarantine of the site.`,
    ])
  }
  if (behindMs > BEHIND_MS && (site.backlog_rows ?? 0) > 0) found.push(['behind', behind(site)])
  if (silentMs !== null) found.push(...comparison(site, times))
  const words = found.map(([, sentence]) => sentence)
  if (found.length === 0) words.push(allIsWell(site, silentMs ?? 0))
  if (isNearlyFull) words.push(`The hub keeps ${inGb(site.stored_bytes)} of this site, of ${inGb(maxBytes)} at most.`)
  words.push(...remarks(site, figures, nowMs))
  const [worst] = found
  return {
    state: worst?.[0] ?? 'ok',
    explanation: words.join(' '),
    warnings: [
      ...(isOff(site.clock_offset_ms) ? (['clock'] as const) : []),
      ...(isTwice ? (['two_gateways'] as const) : []),
      ...(isFull ? (['full'] as const) : []),
      ...(isNearlyFull ? (['nearly_full'] as const) : []),
      ...(figures.quarantined > 0 ? (['quarantined'] as const) : []),
    ],
  }
}

function neverSeen({ keys }: SiteFigures): string {
  return keys === 0
    ? 'No gateway has connected yet, and none can: the site has no key.'
    : 'No gateway has connected yet: give the site key and the address of this hub to the gateway.'
}

function silent({ last_seen_ms }: SiteRow, { keys }: SiteFigures, times: HubTimes): string {
  const reason = keys === 0 ? 'its key is revoked' : 'it has no power or no network, or was stopped'
  const later = 'The gateway works without the hub, keeps its data while its disk has room, and sends it later.'
  const lastMs = last_seen_ms ?? 0
  return times.because === 'database' && lastMs < times.trustedSinceMs
    ? `Not connected now; the last contact that the database still knows of was at ${toIso(lastMs)}. ${later}`
    : `Not connected since ${toIso(lastMs)}: ${reason}. ${later}`
}

function full(site: SiteRow, { quarantined }: SiteFigures, maxBytes: number): string {
  const pieces = quarantined === 0 ? '' : ', delete its quarantine'
  return (
    `The hub keeps ${inGb(site.stored_bytes)} of this site, and may keep ${inGb(maxBytes)}: it accepts no more of ` +
    `its positions and events, which its gateway keeps and sends later. Raise CARTBARN_HUB_SITE_MAX_GB${pieces} ` +
    'or delete what the site erased; if this is more than its devices can have sent, its key may have been stolen.'
  )
}

function behind({ backlog_rows, backlog_oldest_ms }: SiteRow): string {
  const verb = backlog_rows === 1 ? 'is' : 'are'
  return (
    `${count(backlog_rows ?? 0, 'record')} ${verb} pending, the oldest of ${toIso(backlog_oldest_ms ?? 0)}; new ` +
    'data goes first.'
  )
}

/** Reports if the site may lack data that it had, or if that is unknown. */
function comparison(site: SiteRow, times: HubTimes): [SiteState, string][] {
  const rows = unconfirmedRows(site, times)
  if (rows === 0) return []
  if (!isReportTrusted(site, times))
    return [['comparing', UNREPORTED[site.reported_ms === null ? 'never' : times.because]]]
  const verb = rows === 1 ? 'is' : 'are'
  const open = rows === null ? 'missing data is not counted yet' : `${count(rows, 'row')} ${verb} not confirmed`
  return [
    [
      'comparing',
      `Whenever it is connected, the gateway compares its data with the hub and resends missing data: ${open}.`,
    ],
  ]
}

/** The database may have been restored to an earlier day while the hub was stopped. */
const UNREPORTED: Readonly<Record<Trust['because'] | 'never', string>> = {
  never: 'The gateway has not reported yet whether all its data is here.',
  started: 'Since the hub was started the gateway has not reported whether all its data is here.',
  database:
    'The database of the hub is on another server than before, or went back to an earlier state, and since then ' +
    'the gateway has not reported whether all its data is here.',
}

function isReportTrusted({ reported_ms: reportedMs }: SiteRow, { trustedSinceMs }: HubTimes): boolean {
  return reportedMs !== null && reportedMs >= trustedSinceMs
}

/** Returns the number of rows that the hub may lack although it had them; null if unknown. */
export function unconfirmedRows(site: SiteRow, times: HubTimes): number | null {
  return isReportTrusted(site, times) ? site.unconfirmed_rows : null
}

function allIsWell({ backlog_rows }: SiteRow, silentMs: number): string {
  const rest =
    (backlog_rows ?? 0) === 0
      ? 'all data is here except that of the last seconds before it and what came since'
      : 'the rest is being sent'
  return `All is well: last contact ${count(Math.max(0, Math.round(silentMs / 1000)), 'second')} ago, ${rest}.`
}

/** Remarks that do not change the state. */
function* remarks(site: SiteRow, { epochs, gapCount, gapRows }: SiteFigures, nowMs: number): Generator<string> {
  for (const { forked_from, reason, first_seen_ms } of epochs) {
    if (forked_from === null || nowMs - first_seen_ms > FORK_REPORTED_MS) continue
    const since = `Since ${toIso(first_seen_ms)} the gateway has a different database than before`
    yield reason === REBUILT_REASON
      ? `${since}, which was made from the data of the hub: it sends new data, and nothing a second time.`
      : `${since} (${reason ?? 'no reason given'}): it sends its data again, and the hub stores each record once.`
  }
  if (gapCount > 0)
    yield `The gateway deleted up to ${count(gapRows, 'record')} before it could send them: see the gaps of the site.`
  if (site.is_clock_trusted === false) yield 'The clock of the gateway is not set.'
  else if (isOff(site.clock_offset_ms))
    yield `The clock of the gateway is ${describeOffset(site.clock_offset_ms ?? 0)} that of the hub: set the one ` +
      `that ` +
      'is wrong, and let both follow a time server.'
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString('en-US')} ${noun}${number === 1 ? '' : 's'}`
}

/** True if two gateways with one identity were active recently. */
export function hasDuplicateGateway(twoGatewaysMs: number | null, nowMs: number): boolean {
  return twoGatewaysMs !== null && twoGatewaysMs > nowMs - TWO_GATEWAYS_SHOWN_MS
}
