import { describeOffset, isOff } from '#shared/clock-offset.ts'
import type { StreamBacklog, SyncIdentity } from '#shared/sync-source.ts'
import type { SyncState } from '#shared/sync-status.ts'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { SyncStream, SyncWarning } from '#shared/wire/replication/sync.ts'
import type { LinkState } from './link.ts'
import type { StreamTrouble } from './stream-sender.ts'

/** Facts that determine the state of the replication. */
export interface Situation {
  readonly link: LinkState
  /** Reason why the link is not up. */
  readonly detail: string
  readonly host: string
  readonly site: string
  readonly identity: SyncIdentity
  readonly warnings: readonly SyncWarning[]
  readonly backlog: Readonly<Record<SyncStream, StreamBacklog>>
  /** Streams that have not advanced for a long time. */
  readonly stuck: readonly SyncStream[]
  /** Problems of single streams. */
  readonly troubles: readonly (StreamTrouble & { readonly stream: SyncStream })[]
  /** True if the hub has all telemetry that had arrived some seconds ago. */
  readonly isLive: boolean
  /** True if the backlog was counted since the start. */
  readonly isCounted: boolean
  /** Acknowledged rows that the hub may have lost, until everything is compared; null while they are not counted. */
  readonly unconfirmedRows: number | null
  /** Milliseconds by which the clock of this gateway is ahead of the hub's; null before the hub has responded. */
  readonly clockOffsetMs: number | null
}

/** Returns the state as one word; problems that staff must solve come first. */
export function stateOf(situation: Situation): SyncState {
  const { link, warnings, stuck, troubles, identity } = situation
  if (link !== 'up') return link
  if (warnings.includes('two_gateways')) return 'two_gateways'
  if (troubles.some((trouble) => trouble.state === 'unreadable')) return 'unreadable'
  if (troubles.some((trouble) => trouble.state === 'part_refused')) return 'part_refused'
  if (troubles.length > 0) return 'hub_full'
  if (stuck.length > 0) return 'stuck'
  if (situation.isCounted && !hasBacklog(situation)) {
    if (situation.unconfirmedRows !== 0) return 'comparing'
    return warnings.includes('quarantined') ? 'quarantined' : 'in_sync'
  }
  return identity.forkedFrom === null ? 'draining' : 'forked'
}

/** True if more rows wait than the newest. */
export function hasBacklog({ backlog, isLive }: Pick<Situation, 'backlog' | 'isLive'>): boolean {
  return SYNC_STREAMS.some((stream) => backlog[stream].rows > 0 && !(stream === 'telemetry' && isLive))
}

/** Describes the state in sentences, with what staff should do about it. */
export function explain(state: SyncState, situation: Situation): string {
  const sentences = [WORDS[state](situation)]
  const { forkedFrom } = situation.identity
  if (state === 'draining' || state === 'forked') sentences.push(...remarkOnComparison(situation))
  if (forkedFrom !== null)
    sentences.push(
      `This database is replicated as a new epoch, which follows ${forkedFrom.epoch.slice(0, 8)} ` +
        `(${forkedFrom.reason}); the head office keeps what it received of both.`,
    )
  const { clockOffsetMs } = situation
  if (clockOffsetMs !== null && isOff(clockOffsetMs))
    sentences.push(
      `The clock of this gateway is ${describeOffset(clockOffsetMs)} that of the head office: set the one that ` +
        'is wrong, and let both follow a time server.',
    )
  if (state !== 'quarantined' && situation.warnings.includes('quarantined')) sentences.push(QUARANTINED)
  return sentences.join(' ')
}

const QUARANTINED =
  'The head office received data that it could not read, damaged or of a version that it does not know, and ' +
  'keeps it in quarantine, where its admins can inspect it.'
const KEPT = 'The gateway keeps unacknowledged data as long as its disk has room'

const WORDS: Record<SyncState, (situation: Situation) => string> = {
  connecting: ({ host }) => `Connecting to the head office at ${host} for the first time since the start.`,
  in_sync: () =>
    'The head office has acknowledged all data except that of the last seconds, which the gateway is sending.',
  quarantined: () =>
    'The head office has acknowledged all data except that of the last seconds, but cannot use all of the data. ' +
    `${QUARANTINED}`,
  comparing: (situation) => `Connected. ${remarkOnComparison(situation).join('')}`,
  draining: sending,
  waiting: ({ host, detail }) =>
    `No connection to the head office at ${host}: ${detail}. ${KEPT}, and retries automatically. Check the ` +
    'network and CARTBARN_UPSTREAM_URL if this lasts.',
  refused: ({ host, detail }) =>
    `The head office at ${host} does not accept this gateway: ${detail}. Check CARTBARN_UPSTREAM_KEY and ` +
    `CARTBARN_SITE_ID, or ask the head office for a new site key. ${KEPT}.`,
  other_site: ({ site, detail }) =>
    `The gateway sends nothing: ${detail}, but CARTBARN_SITE_ID is ${site}. If the setting is wrong, correct ` +
    "it; if this disk is a copy of another gateway's, start with an empty data folder.",
  other_machine: ({ detail }) => `${detail} ${KEPT}.`,
  forked: sending,
  stuck: ({ stuck }) =>
    `Connected, but the head office accepts no more data of ${stuck.join(', ')}. See the log output of the ` +
    'gateway and of the hub.',
  unreadable: ({ troubles }) =>
    `Connected, but ${troubles.map(describeTrouble).join('; ')}. The other streams continue. The disk or the ` +
    'database is damaged: see the log output of the gateway, replace the disk if it reports more read errors, ' +
    'and restore a backup. The gateway retries automatically.',
  part_refused: ({ troubles }) =>
    `Connected, but ${troubles.map(describeTrouble).join('; ')}. The other streams continue. The hub may need ` +
    'an upgrade. The gateway retries automatically.',
  hub_full: ({ troubles }) =>
    `Connected, but ${describeFull(troubles)}. States of devices, configurations and intents still go through. ` +
    `${KEPT}, asks every few minutes, and sends it as soon as the head office has room. Ask an admin of the ` +
    'head office to raise its limit for this site.',
  two_gateways: ({ site }) =>
    `Two gateways send as site ${site}: most likely a disk was copied, and both copies run. Switch one off, or ` +
    'give it a site of its own and an empty data folder. The head office keeps what both send.',
}

function sending({ isCounted }: Situation): string {
  return isCounted
    ? 'Connected. The gateway is sending its backlog; new data goes first.'
    : 'Connected. The gateway is counting what it still has to send.'
}

function remarkOnComparison({ unconfirmedRows: rows }: Situation): string[] {
  if (rows === 0) return []
  const open =
    rows === null
      ? 'it is not known yet how many rows are not confirmed'
      : `${rows.toLocaleString('en-US')} ${rows === 1 ? 'row is' : 'rows are'} not confirmed`
  return [
    `The gateway is comparing its data with the head office, and resends missing data: ${open}. Until all are, ` +
      'retention deletes nothing.',
  ]
}

function describeFull(troubles: Situation['troubles']): string {
  const full = troubles.filter(({ state }) => state === 'hub_full')
  return `the head office takes no more ${full.map(({ stream }) => stream).join(', ')}: ${full[0]?.detail}`
}

function describeTrouble({ stream, state, detail }: Situation['troubles'][number]): string {
  return state === 'unreadable'
    ? `the gateway cannot read the rest of ${stream}: ${detail}`
    : `the head office does not accept a part of ${stream}: ${detail}`
}
