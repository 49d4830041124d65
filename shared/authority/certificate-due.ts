import { createPrivateKey, X509Certificate } from 'node:crypto'
import { DAY_MS } from '#shared/time.ts'
import { type Authority, isPermitted, LEAF_BEGINS_MS } from './authority.ts'
import type { HostNames } from './host-names.ts'

/** How long before its end a certificate is renewed. */
const RENEW_BEFORE_MS = 30 * DAY_MS

/** Why a new certificate is wanted. */
export type DueReason =
  | 'there is none that can be used'
  | 'it is of another authority'
  | 'the machine has another name or address'
  | 'it ends soon'
  | 'it begins later than now'

/** A certificate of an authority that is wanted, and as of when it is to be made. */
export interface DueCertificate {
  reason: DueReason
  issuedAtMs: number
}

/**
 * Whether a machine needs another certificate than the one it has. A clock that shows a time before the authority was
 * made, or after its end, is wrong: no certificate is renewed by it, and one that must be made is dated as the one
 * before.
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
  if (leaf === undefined) return dueFor('there is none that can be used')
  if (!isIssuedBy(leaf, authority))
    return { reason: 'it is of another authority', issuedAtMs: isClockWrong ? authority.madeAtMs : nowMs }
  if (!isFor(leaf, authority, hosts)) return dueFor('the machine has another name or address')
  if (isClockWrong) return null
  if (nowMs < leaf.validFromDate.getTime()) return dueFor('it begins later than now')
  const endsMs = leaf.validToDate.getTime()
  // the last one of an authority cannot be made to last longer
  const isLast = endsMs >= authority.expiresAtMs
  return nowMs >= endsMs - RENEW_BEFORE_MS && !isLast ? dueFor('it ends soon') : null
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
