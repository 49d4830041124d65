import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN_KEY } from '#scripts/rig/gateway-process.ts'
import type { SyncFindings } from './findings.ts'

/** The fields of the replication status that are checked here. */
export interface SaidStatus {
  state: string
  explanation: string
  details: {
    epoch: string
    warnings: string[]
    audit: {
      state: string
      last: { is_everything: boolean; counts: AuditCount[] } | null
    }
  } | null
}

interface AuditCount {
  kind: string
  rows: number
  confirmed: number
  resent: number
  extra: number
}

const AUDIT_LIMIT_MS = 90_000
const POLL_MS = 200

/** Asks a gateway how its replication is. */
export async function readStatus(url: string): Promise<SaidStatus> {
  const response = await fetch(`${url}/sync/status`, { headers: { 'X-API-Key': ADMIN_KEY } })
  if (response.status !== 200) throw new Error(`GET /sync/status: ${response.status}`)
  // held to its schema by the gateway's own tests
  return (await response.json()) as SaidStatus
}

/** Waits until the status of a gateway is the expected one; returns the last status when the time is up. */
export async function untilStatus(
  url: string,
  isWanted: (status: SaidStatus) => boolean,
  limitMs: number,
): Promise<SaidStatus> {
  const giveUpAtMs = performance.now() + limitMs
  for (;;) {
    const status = await readStatus(url)
    if (isWanted(status) || performance.now() > giveUpAtMs) return status
    await sleep(POLL_MS)
  }
}

/**
 * Has a gateway compare everything with its hub, twice: when nothing is under way nothing may be missing. Where the hub has
 * more than the gateway, as after a purge, it asks for what it may lack all the same; but only once.
 */
export async function audit(url: string, findings: SyncFindings): Promise<void> {
  const first = await auditOnce(url, findings)
  for (const { kind, resent, extra } of first) {
    if (extra === 0) findings.note('audits', `${kind}: ${resent} rows were sent again`, resent)
  }
  for (const { kind, resent } of await auditOnce(url, findings))
    findings.note('audits', `${kind}: ${resent} rows were sent again once more`, resent)
}

async function auditOnce(url: string, findings: SyncFindings): Promise<readonly AuditCount[]> {
  const response = await fetch(`${url}/sync/audit`, { method: 'POST', headers: { 'X-API-Key': ADMIN_KEY } })
  if (response.status >= 300) throw new Error(`POST /sync/audit: ${response.status}`)
  const isOver = ({ details }: SaidStatus) => details?.audit.state === 'idle'
  const { details, explanation } = await untilStatus(url, isOver, AUDIT_LIMIT_MS)
  const last = details?.audit.last
  if (details?.audit.state !== 'idle' || last?.is_everything !== true) {
    findings.note('audits', `no audit of everything in ${AUDIT_LIMIT_MS / 1000} s: ${explanation}`)
    return []
  }
  for (const { kind, rows, confirmed } of last.counts)
    findings.note('audits', `${kind}: ${confirmed} of ${rows} confirmed`, rows - confirmed)
  return last.counts
}
