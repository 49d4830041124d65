import { forgetDeletedEntries, sumAuditEntries } from '#hub/store/audit-log.ts'
import { type AuditResend, auditResends, replaceAuditResends } from '#hub/store/audit-resends.ts'
import { recordAudit } from '#hub/store/audits.ts'
import type { Database } from '#hub/store/database/database.ts'
import { livingEntities } from '#hub/store/entities.ts'
import { eventsBetween } from '#hub/store/events.ts'
import { inActiveSite, inSite } from '#hub/store/sites.ts'
import { addStoredBytes, ROW_BYTES } from '#hub/store/stored-bytes.ts'
import { compactSegments } from '#hub/store/telemetry/compactor.ts'
import { devicesBetween, readTelemetry } from '#hub/store/telemetry/reader.ts'
import { InvalidRequestError } from '#shared/errors.ts'
import { RowHashSum } from '#shared/sync-hash.ts'
import { addRecords } from '#shared/telemetry/record-sum.ts'
import { BATTERY, GPS, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import { type Clock, DAY_MS } from '#shared/time.ts'
import type { Audit, AuditAnswer } from '#shared/wire/replication/sync.ts'
import { registerSender } from './senders.ts'
import type { SiteBudgets } from './site-budgets.ts'

/** Compares the gateway's rows with the hub's, group by group. Throws `site_full` without room for the result. */
export async function answerAudit(
  { database, clock, budgets }: { database: Database; clock: Clock; budgets: SiteBudgets },
  siteId: string,
  audit: Audit,
): Promise<AuditAnswer> {
  const { kind, day_ms, groups } = audit
  if ((day_ms === null) !== (kind === 'entities') || (day_ms !== null && day_ms % DAY_MS !== 0)) {
    throw new InvalidRequestError('invalid_body', `day_ms must not be ${day_ms} for ${kind}`)
  }
  const startedAtMs = clock.nowMs()
  await inActiveSite(database, siteId, { nowMs: startedAtMs }, (sql, site) => {
    budgets.requireRoom(site.storedBytes, [])
    return registerSender(sql, site, audit, startedAtMs)
  })
  const through = new Map(groups.map(({ group, through_ms }) => [group, through_ms]))
  const at = { dayMs: day_ms ?? 0, nowMs: clock.nowMs(), through }
  const sums = await sumsOf(database, siteId, audit, at)
  const day = { kind, dayMs: day_ms ?? -1 }
  const known = await auditResends(database, siteId, day)
  const resends: AuditResend[] = []
  const resend: string[] = []
  const extra: AuditAnswer['extra'] = []
  let rows = 0
  for (const { group, count, sum } of groups) {
    rows += count
    const mine = sums.get(group) ?? new RowHashSum()
    sums.delete(group)
    if (mine.count > count) extra.push({ group, count: mine.count - count })
    if (mine.count === count && mine.toString() === sum) continue
    const compared = { count, gatewayRows: `${count} ${sum}`, hubRows: `${mine.count} ${mine}` }
    const before = known.get(group)
    if (mine.count > count && before !== undefined && isAllThere(before, compared)) {
      resends.push({ ...before, hubRows: compared.hubRows })
    } else if (count > 0) {
      // a hub with more rows may still lack some: the gateway sends the group once, and missing rows are inserted
      resend.push(group)
      resends.push({ group, gatewayRows: compared.gatewayRows, hubRows: null, resentCount: 0 })
    }
  }
  for (const [group, { count }] of sums) if (count > 0) extra.push({ group, count })
  await inSite(database, siteId, async (sql) => {
    if (kind === 'entities') await forgetDeletedEntries(sql, siteId, audit.epoch, auditEntriesOf(groups))
    await replaceAuditResends(sql, siteId, day, resends)
    await addStoredBytes(sql, siteId, (resends.length + 1 - known.size) * ROW_BYTES)
    await recordAudit(sql, siteId, {
      ...day,
      auditedAtMs: clock.nowMs(),
      rows,
      missingGroups: resend.length,
      extra: extra.reduce((sum, { count }) => sum + count, 0),
    })
  })
  return { resend, extra }
}

const AUDIT_ENTRIES = 'audit_entry'

/** Returns the number of entries in the audit log of the gateway. */
function auditEntriesOf(groups: Audit['groups']): number {
  return groups.find(({ group }) => group === AUDIT_ENTRIES)?.count ?? 0
}

/** True if the gateway has sent the whole group again since the request, and nothing has changed since then. */
function isAllThere(
  before: AuditResend,
  { count, gatewayRows, hubRows }: { count: number; gatewayRows: string; hubRows: string },
): boolean {
  if (before.gatewayRows !== gatewayRows) return false
  return before.hubRows === null ? before.resentCount >= count : before.hubRows === hubRows
}

/** Compared rows: a day, for some groups only up to a time. */
interface Compared {
  readonly dayMs: number
  readonly nowMs: number
  readonly through: ReadonlyMap<string, number | undefined>
}

async function sumsOf(
  sql: Database,
  siteId: string,
  { kind, epoch, groups }: Audit,
  at: Compared,
): Promise<Map<string, RowHashSum>> {
  if (kind === 'gps') return recordSums(sql, siteId, GPS, at)
  if (kind === 'battery') return recordSums(sql, siteId, BATTERY, at)
  const sums = new Map<string, RowHashSum>()
  const add = (group: string, text: string) => {
    const sum = sums.get(group) ?? new RowHashSum()
    sum.addText(text)
    sums.set(group, sum)
  }
  if (kind === 'entities') {
    for (const { table, key, body } of await livingEntities(sql, siteId)) {
      add(table, `[${JSON.stringify(table)},${JSON.stringify(key)},${body}]`)
    }
    const entries = new RowHashSum()
    await sumAuditEntries(sql, siteId, epoch, auditEntriesOf(groups), entries)
    if (entries.count > 0) sums.set(AUDIT_ENTRIES, entries)
  } else {
    for (const event of await eventsBetween(sql, siteId, kind, at.dayMs, at.dayMs + DAY_MS)) {
      if (event.atMs <= (at.through.get(event.hardwareId) ?? event.atMs)) add(event.hardwareId, event.body)
    }
  }
  return sums
}

/** Reads the devices in sequence: together they may have millions of records in a day. */
async function recordSums<R extends Records>(
  sql: Database,
  siteId: string,
  kind: RecordKind<R>,
  { dayMs, nowMs, through }: Compared,
): Promise<Map<string, RowHashSum>> {
  // without compaction each device would have to be searched in each segment
  while ((await compactSegments(sql, siteId, nowMs)) > 0);
  const range = { fromMs: dayMs, toMs: dayMs + DAY_MS - 1 }
  const sums = new Map<string, RowHashSum>()
  for (const hardwareId of await devicesBetween(sql, siteId, kind.name, range)) {
    const toMs = Math.min(range.toMs, through.get(hardwareId) ?? range.toMs)
    const records = await readTelemetry(sql, kind, { siteId, hardwareId }, { ...range, toMs })
    const sum = new RowHashSum()
    addRecords(sum, kind, records)
    sums.set(hardwareId, sum)
  }
  return sums
}
