import { z } from 'zod'
import { DAY_MS, startOfDayMs } from '#shared/time.ts'
import { type AuditKind, auditKindSchema } from '#shared/wire/replication/sync.ts'

/** Rows of one kind compared by an audit. */
export const auditCountSchema = z.object({
  /** Rows at the gateway. */
  rows: z.number().int(),
  /** Rows here that the hub has too. */
  confirmed: z.number().int(),
  resent: z.number().int(),
  /** Rows of the hub that the gateway no longer has, for example after retention. */
  extra: z.number().int(),
})
export type AuditCount = z.infer<typeof auditCountSchema>

/**
 * Groups of which the hub has more rows than the gateway, and which the gateway has completely sent again: while both
 * counts stay the same, the hub lacks none of their rows.
 */
const provenGroupsSchema = z.record(z.string(), z.string())
export type VerifiedGroups = Readonly<z.infer<typeof provenGroupsSchema>>

const auditScopeSchema = z.object({ kind: auditKindSchema.nullable(), dayMs: z.number().nullable() })
/** Kinds and days to compare; null means all. */
export type AuditScope = Readonly<z.infer<typeof auditScopeSchema>>
export const FULL_SCOPE: AuditScope = { kind: null, dayMs: null }

/** State of audits that survives a restart. Times in milliseconds. */
export const auditRecordSchema = z.object({
  epoch: z.string(),
  last: z
    .object({
      startedAtMs: z.number(),
      endedAtMs: z.number(),
      isEverything: z.boolean(),
      counts: z.partialRecord(auditKindSchema, auditCountSchema),
    })
    .nullable(),
  /** Time of the last comparison of each day, by kind; days are keyed by midnight, UTC. */
  days: z.partialRecord(auditKindSchema, z.record(z.string(), z.number())),
  /** The day of the last nightly audit. */
  nightMs: z.number().nullable(),
  /** Requested audits that are not finished. */
  wanted: z.array(auditScopeSchema),
  /** Keyed by kind and day. */
  proven: z.record(z.string(), provenGroupsSchema),
})
export type AuditRecord = z.infer<typeof auditRecordSchema>

/** More requested scopes than this are merged into one for everything. */
const MAX_WANTED = 100

/** Adds a requested scope, unless `wanted` contains it or one that includes it. */
export function addScope(wanted: readonly AuditScope[], scope: AuditScope): AuditScope[] {
  if (wanted.some((known) => includes(known, scope))) return [...wanted]
  const others = wanted.filter((known) => !includes(scope, known))
  return others.length < MAX_WANTED ? [...others, scope] : [{ ...FULL_SCOPE }]
}

export function isEverything({ kind, dayMs }: AuditScope): boolean {
  return kind === null && dayMs === null
}

/** Returns the requested days of a kind; entities have none and are requested by their kind. */
export function requestedDays(
  wanted: readonly AuditScope[],
  kind: AuditKind,
  days: readonly (number | null)[],
): readonly (number | null)[] {
  const scopes = wanted.filter((scope) => scope.kind === null || scope.kind === kind)
  return days.filter((day) =>
    scopes.some((scope) => scope.dayMs === null || scope.dayMs === day || (day === null && scope.kind === kind)),
  )
}

function includes(a: AuditScope, b: AuditScope): boolean {
  return (a.kind === null || a.kind === b.kind) && (a.dayMs === null || a.dayMs === b.dayMs)
}

const RECENT_DAYS = 7
/** Ensures that each day is compared at least every 30 days, with some nights in reserve. */
const ROTATION_DAYS = 25

/**
 * Returns the days to compare tonight: the newest ones, and the older ones compared longest ago, enough to compare each
 * day within `ROTATION_DAYS`. `days` are oldest first.
 */
export function daysToAudit(
  days: readonly (number | null)[],
  auditedAtMs: Readonly<Record<string, number>>,
  nowMs: number,
): readonly (number | null)[] {
  const recentMs = startOfDayMs(nowMs) - RECENT_DAYS * DAY_MS
  const isRecent = (day: number | null) => day === null || day >= recentMs
  // a time in the future was recorded while the clock was wrong
  const ageMs = (day: number) => {
    const atMs = auditedAtMs[day] ?? Number.NEGATIVE_INFINITY
    return atMs > nowMs ? Number.POSITIVE_INFINITY : nowMs - atMs
  }
  const older = days.filter((day) => day !== null && !isRecent(day)) as number[]
  const turn = older.toSorted((a, b) => ageMs(b) - ageMs(a)).slice(0, Math.ceil(older.length / ROTATION_DAYS))
  return days.filter((day) => isRecent(day) || (day !== null && turn.includes(day)))
}

const WINDOW_FROM_H = 2
/** Nightly audits begin at a random minute of this window, which starts at two; none begins after five. */
const WINDOW_MINUTES = 120

/**
 * Returns the night (midnight of its day, in the gateway's time zone) whose audit may begin at `nowMs`; null by day.
 * `share`, from 0 to 1, is the start of this gateway within the window.
 */
export function nightOf(nowMs: number, share: number): number | null {
  const now = new Date(nowMs)
  const beginsAtMs = new Date(nowMs).setHours(WINDOW_FROM_H, Math.floor(share * WINDOW_MINUTES), 0, 0)
  if (nowMs < beginsAtMs || now.getHours() >= 5) return null
  return new Date(nowMs).setHours(0, 0, 0, 0)
}
