import type { SyncState } from '#shared/sync-status.ts'
import { SYNC_STREAMS, type SyncStream, type SyncWarning } from '#shared/wire/sync.ts'
import type { LinkState } from './link.ts'
import type { StreamBacklog, SyncIdentity } from './source.ts'
import type { StreamTrouble } from './stream-sender.ts'

/** What the state of the replication follows from. */
export interface Situation {
  readonly link: LinkState
  /** Why the link is not up. */
  readonly detail: string
  readonly host: string
  readonly site: string
  readonly identity: SyncIdentity
  readonly warnings: readonly SyncWarning[]
  readonly backlog: Readonly<Record<SyncStream, StreamBacklog>>
  /** Streams that did not move for long. */
  readonly stuck: readonly SyncStream[]
  /** What stands in the way of a stream. */
  readonly troubles: readonly (StreamTrouble & { readonly stream: SyncStream })[]
  /** The hub has all telemetry that had come some seconds ago. */
  readonly isLive: boolean
}

/** The state in one word: what needs people first. */
export function stateOf(situation: Situation): SyncState {
  const { link, warnings, stuck, troubles, identity } = situation
  if (link !== 'up') return link
  if (warnings.includes('two_gateways')) return 'two_gateways'
  if (troubles.some((trouble) => trouble.state === 'unreadable')) return 'unreadable'
  if (troubles.length > 0) return 'part_refused'
  if (stuck.length > 0) return 'stuck'
  if (!hasBacklog(situation)) return 'in_sync'
  return identity.forkedFrom === null ? 'draining' : 'forked'
}

/** Whether anything waits besides what has just come. */
export function hasBacklog({ backlog, isLive }: Pick<Situation, 'backlog' | 'isLive'>): boolean {
  return SYNC_STREAMS.some((stream) => backlog[stream].rows > 0 && !(stream === 'telemetry' && isLive))
}

/** The state in words for people, and what they are to do about it. */
export function explain(state: SyncState, situation: Situation): string {
  const sentences = [WORDS[state](situation)]
  const { forkedFrom } = situation.identity
  if (forkedFrom !== null)
    sentences.push(
      `This database goes on as a new epoch, after ${forkedFrom.epoch.slice(0, 8)} (${forkedFrom.reason}); the head office keeps both, and nothing is lost.`,
    )
  if (situation.warnings.includes('quarantined'))
    sentences.push(
      'The head office has put something aside that it could not read; whoever runs it can look at it there.',
    )
  return sentences.join(' ')
}

const WORDS: Record<SyncState, (situation: Situation) => string> = {
  connecting: ({ host }) => `Connecting to the head office at ${host} for the first time since the start.`,
  in_sync: () => 'The head office has everything but what came in the last seconds, which is on its way.',
  draining: () => 'Connected. What is waiting is being sent; what is new goes first.',
  waiting: ({ host, detail }) =>
    `No connection to the head office at ${host}: ${detail}. Nothing is lost; it is tried again by itself. Check the network and CARTBARN_UPSTREAM_URL if this lasts.`,
  refused: ({ host, detail }) =>
    `The head office at ${host} does not accept this gateway: ${detail}. Check CARTBARN_UPSTREAM_KEY and CARTBARN_SITE_ID, or have a new site key made there. Nothing is lost meanwhile.`,
  other_site: ({ site, detail }) =>
    `Nothing is sent: ${detail}, but CARTBARN_SITE_ID is ${site}. If the setting is wrong, correct it; if this disk is a copy of another gateway's, start with an empty data folder.`,
  forked: () => 'Connected. This database is sent anew, as it is not the one that was replicated before.',
  stuck: ({ stuck }) =>
    `Connected, but the head office takes nothing more of ${stuck.join(', ')}. See the log of the gateway and of the head office.`,
  unreadable: ({ troubles }) =>
    `Connected, but ${troubles.map(describeTrouble).join('; ')}. The rest goes on. The disk or the database is damaged: see the log of the gateway, replace the disk if there are more such lines, and restore a backup; it is tried again by itself.`,
  part_refused: ({ troubles }) =>
    `Connected, but ${troubles.map(describeTrouble).join('; ')}. The rest goes on. The head office may need an upgrade; it is tried again by itself.`,
  two_gateways: ({ site }) =>
    `Two gateways send as site ${site}: most likely a disk was copied, and both copies run. Switch one off, or give it a site of its own and an empty data folder. Nothing is lost: the head office keeps what both send.`,
}

function describeTrouble({ stream, state, detail }: Situation['troubles'][number]): string {
  return state === 'unreadable'
    ? `${stream} cannot be read any further here: ${detail}`
    : `a part of ${stream} is not taken: ${detail}`
}
