import { waitUntil } from '#scripts/rig/wait-until.ts'
import type { ApiClient } from '#shared/client.ts'
import type { SyncStatusJson } from '#shared/wire/sync-status.ts'
import type { SyncFindings } from './findings.ts'

const AUDIT_LIMIT_MS = 90_000
const POLL_MS = 200

/** Waits until the status of a gateway is the expected one; returns the last status when the limit expires. */
export async function untilStatus(
  client: ApiClient,
  isWanted: (status: SyncStatusJson) => boolean,
  limitMs: number,
): Promise<SyncStatusJson> {
  let status = await client.call('GET /sync/status')
  const isReached = async () => {
    status = await client.call('GET /sync/status')
    return isWanted(status)
  }
  await waitUntil(isReached, limitMs, POLL_MS)
  return status
}

/** Number of rows that a gateway sent again after its last audit. */
export function resentOf({ details }: SyncStatusJson): number {
  return (details?.audit.last?.counts ?? []).reduce((sum, { resent }) => sum + resent, 0)
}

/**
 * Makes a gateway compare everything with its hub, twice: while nothing is in transit, nothing may be missing. If the
 * hub has more than the gateway, as after a purge, the hub requests what it may lack anyway, but only once.
 */
export async function audit(client: ApiClient, findings: SyncFindings): Promise<void> {
  const first = await auditOnce(client, findings)
  for (const { kind, resent, extra } of first) {
    if (extra === 0) findings.note('audits', `${kind}: ${resent} rows were sent again`, resent)
  }
  for (const { kind, resent } of await auditOnce(client, findings))
    findings.note('audits', `${kind}: ${resent} rows were sent again once more`, resent)
}

async function auditOnce(client: ApiClient, findings: SyncFindings) {
  await client.call('POST /sync/audit')
  const isOver = ({ details }: SyncStatusJson) => details?.audit.state === 'idle'
  const { details, explanation } = await untilStatus(client, isOver, AUDIT_LIMIT_MS)
  const last = details?.audit.last
  if (details?.audit.state !== 'idle' || last?.is_everything !== true) {
    findings.note('audits', `no audit of everything in ${AUDIT_LIMIT_MS / 1000} s: ${explanation}`)
    return []
  }
  for (const { kind, rows, confirmed } of last.counts)
    findings.note('audits', `${kind}: ${confirmed} of ${rows} confirmed`, rows - confirmed)
  return last.counts
}
