import { z } from 'zod'
import { DAY_MS, startOfDayMs } from '../../shared/time.ts'
import { auditKindSchema } from '../../shared/wire/sync.ts'

/** Of one kind, what an audit compared. */
export const auditCountSchema = z.object({
  /** Rows here. */
  rows: z.number().int(),
  /** Of these, the rows the hub has too. */
  confirmed: z.number().int(),
  /** Rows that were sent again. */
  resent: z.number().int(),
  /** Rows of the hub that are not here any more, as after retention. */
  extra: z.number().int(),
})
export type AuditCount = z.infer<typeof auditCountSchema>

/** What is kept of audits over a restart. Times in milliseconds. */
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
  /** When each day was compared last, by kind; midnight, UTC. */
  days: z.partialRecord(auditKindSchema, z.record(z.string(), z.number())),
  /** The day of the last nightly audit. */
  nightMs: z.number().nullable(),
  /** One was asked for and is not over. */
  isWanted: z.boolean(),
})
export type AuditRecord = z.infer<typeof auditRecordSchema>

const RECENT_DAYS = 7
/** So that a day is compared at least every 30 days, with some nights to spare. */
const ROTATION_DAYS = 25

/**
 * The days to compare tonight: the newest ones, and of the older ones those that were compared longest ago, so many that
 * all have their turn. `days` are oldest first.
 */
export function daysOfTonight(
  days: readonly (number | null)[],
  auditedAtMs: Readonly<Record<string, number>>,
  nowMs: number,
): readonly (number | null)[] {
  const recentMs = startOfDayMs(nowMs) - RECENT_DAYS * DAY_MS
  const isRecent = (day: number | null) => day === null || day >= recentMs
  // a time in the future was noted by a clock that was wrong
  const ageMs = (day: number) => {
    const atMs = auditedAtMs[day] ?? Number.NEGATIVE_INFINITY
    return atMs > nowMs ? Number.POSITIVE_INFINITY : nowMs - atMs
  }
  const older = days.filter((day) => day !== null && !isRecent(day)) as number[]
  const turn = older.toSorted((a, b) => ageMs(b) - ageMs(a)).slice(0, Math.ceil(older.length / ROTATION_DAYS))
  return days.filter((day) => isRecent(day) || (day !== null && turn.includes(day)))
}

const WINDOW_FROM_H = 2
/** Nightly audits begin within so many minutes, and are over by five. */
const WINDOW_MINUTES = 120

/**
 * The night (midnight of its day, in the time zone of the gateway) whose audit may begin at `nowMs`; null by day. `share`
 * from 0 to 1 is when in the window this gateway begins.
 */
export function nightOf(nowMs: number, share: number): number | null {
  const now = new Date(nowMs)
  const beginsAtMs = new Date(nowMs).setHours(WINDOW_FROM_H, Math.floor(share * WINDOW_MINUTES), 0, 0)
  if (nowMs < beginsAtMs || now.getHours() >= 5) return null
  return new Date(nowMs).setHours(0, 0, 0, 0)
}
