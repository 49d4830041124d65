import type { ClockState } from '#domain/clock-state.ts'
import type { SyncState } from '#shared/sync-status.ts'
import { DAY_MS, HOUR_MS, isoOrNull, MINUTE_MS } from '#shared/time.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { DiskUse } from '../telemetry/disk-guard.ts'
import type { RuleResult } from './rule.ts'

export interface SiteFacts {
  disk: DiskUse
  clock: { state: ClockState; unconfirmedMs: number }
  /** Null without a hub. */
  sync: { state: SyncState; lastContactMs: number | null; unwellMs: number } | null
  /** `overdue` holds if there was no good backup for too long; never without a backup target. */
  backup: { overdue: RuleResult; lastGoodMs: number | null }
  /** End and remaining validity by the clock, and the time for which renewal has failed. Null without TLS. */
  certificate: { expiresAtMs: number; leftMs: number; troubleMs: number } | null
}

export interface SiteRule {
  readonly kind: AlertKind
  evaluate(facts: SiteFacts): RuleResult
  describe(facts: SiteFacts): Record<string, unknown>
}

const UNCONFIRMED_MS = 10 * MINUTE_MS
/** Time without contact; longer than `TROUBLE_MS`: connections usually recover, other sync trouble needs staff. */
const NO_CONTACT_MS = HOUR_MS
const TROUBLE_MS = 5 * MINUTE_MS
/** Time of failed renewal; a disk may be full for a moment, or a file be replaced. */
const NOT_RENEWED_MS = 10 * MINUTE_MS
/** Remaining validity that raises the alert; users cannot pass a browser's warning about an expired certificate. */
const ENDS_SOON_MS = 14 * DAY_MS
/** `forked` is `draining` in a later epoch. */
const WELL: ReadonlySet<SyncState> = new Set<SyncState>(['in_sync', 'quarantined', 'comparing', 'draining', 'forked'])
const WITHOUT_CONTACT: ReadonlySet<SyncState> = new Set<SyncState>(['connecting', 'waiting'])

/** True if the hub receives all pending data. */
export function isWell(state: SyncState): boolean {
  return WELL.has(state)
}

const DISK: SiteRule = {
  kind: 'disk',
  evaluate({ disk }) {
    // the disk has not been measured yet
    if (disk.budgetBytes === 0) return 'unsure'
    return disk.state === 'ok' ? 'over' : 'holds'
  },
  describe: ({ disk: { state, usedBytes, budgetBytes } }) => ({
    state,
    used_bytes: usedBytes,
    budget_bytes: budgetBytes,
  }),
}

const CLOCK: SiteRule = {
  kind: 'clock',
  evaluate({ clock: { state, unconfirmedMs } }) {
    if (state === 'confirmed') return 'over'
    return state === 'untrusted' || unconfirmedMs >= UNCONFIRMED_MS ? 'holds' : 'unsure'
  },
  describe: ({ clock: { state } }) => ({ clock: state }),
}

const SYNC: SiteRule = {
  kind: 'sync',
  evaluate({ sync }) {
    if (sync === null || isWell(sync.state)) return 'over'
    const patienceMs = WITHOUT_CONTACT.has(sync.state) ? NO_CONTACT_MS : TROUBLE_MS
    return sync.unwellMs >= patienceMs ? 'holds' : 'unsure'
  },
  describe: ({ sync }) => ({
    state: sync?.state ?? null,
    last_contact_at: isoOrNull(sync?.lastContactMs ?? null),
  }),
}

const BACKUP: SiteRule = {
  kind: 'backup',
  evaluate: ({ backup }) => backup.overdue,
  describe: ({ backup }) => ({ last_good_at: isoOrNull(backup.lastGoodMs) }),
}

const CERTIFICATE: SiteRule = {
  kind: 'certificate',
  evaluate({ certificate, clock }) {
    if (certificate === null) return 'over'
    const { leftMs, troubleMs } = certificate
    if (troubleMs >= NOT_RENEWED_MS) return 'holds'
    if (leftMs < ENDS_SOON_MS) return clock.state === 'confirmed' ? 'holds' : 'unsure'
    return troubleMs > 0 ? 'unsure' : 'over'
  },
  describe: ({ certificate }) => ({
    expires_at: isoOrNull(certificate?.expiresAtMs ?? null),
    renewed: certificate?.troubleMs === 0,
  }),
}

/** All rules of the site; PIN locks of users come as events. */
export const SITE_RULES: readonly SiteRule[] = [DISK, CLOCK, SYNC, BACKUP, CERTIFICATE]
