import { createPrivateKey, X509Certificate } from 'node:crypto'
import { DAY_MS } from '#shared/time.ts'
import { type Authority, isPermitted, LEAF_BEGINS_MS } from './authority.ts'
import type { HostNames } from './host-names.ts'

const RENEW_BEFORE_MS = 30 * DAY_MS

export type DueReason =
  | 'no usable certificate'
  | 'issued by another authority'
  | 'a name or address of the computer has changed'
  | 'expires soon'
  | 'not valid yet'

/** Certificate to issue, and the time at which to issue it. */
export interface DueCertificate {
  reason: DueReason
  issuedAtMs: number
}

/**
 * Decides if a host needs a new certificate. A clock before the creation or after the expiry of the authority is wrong:
 * it triggers no renewal, and a certificate that is unavoidable gets the date of the previous one.
 */
export function leafDue(
  authority: Authority,
  leafPem: string | undefined,
  hosts: HostNames,
  nowMs: number,
): DueCertificate | null {
  const isClockWrong = nowMs < authority.madeAtMs || nowMs >= authority.expiresAtMs
  const leaf = leafPem === undefined ? undefined : readLeaf(leafPem)
  const lastMs = leaf === undefined ? authority.madeAtMs : leaf.validFromDate.getTime() + LEAF_BEGINS_MS
  const dueFor = (reason: DueReason) => ({ reason, issuedAtMs: isClockWrong ? lastMs : nowMs })
  if (leaf === undefined) return dueFor('no usable certificate')
  if (!isIssuedBy(leaf, authority))
    return { reason: 'issued by another authority', issuedAtMs: isClockWrong ? authority.madeAtMs : nowMs }
  if (!isFor(leaf, authority, hosts)) return dueFor('a name or address of the computer has changed')
  if (isClockWrong) return null
  if (nowMs < leaf.validFromDate.getTime()) return dueFor('not valid yet')
  const endsMs = leaf.validToDate.getTime()
  // a certificate cannot outlive its authority
  const isLast = endsMs >= authority.expiresAtMs
  return nowMs >= endsMs - RENEW_BEFORE_MS && !isLast ? dueFor('expires soon') : null
}

function readLeaf(pem: string): X509Certificate | undefined {
  try {
    const leaf = new X509Certificate(pem)
    return leaf.checkPrivateKey(createPrivateKey(pem)) ? leaf : undefined
  } catch {
    return undefined
  }
}

function isIssuedBy(leaf: X509Certificate, { certificate }: Authority): boolean {
  return leaf.verify(new X509Certificate(certificate).publicKey)
}

function isFor(leaf: X509Certificate, authority: Authority, { names, addresses }: HostNames): boolean {
  return (
    names.every((name) => !isPermitted(authority, name) || leaf.checkHost(name, { subject: 'never' }) !== undefined) &&
    addresses.every((address) => leaf.checkIP(address) !== undefined)
  )
}
