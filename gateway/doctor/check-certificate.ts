import { X509Certificate } from 'node:crypto'
import { hostname, networkInterfaces } from 'node:os'
import { describeError } from '#shared/errors.ts'
import { DAY_MS, toIso } from '#shared/time.ts'
import { checkPemPair, type KeyPairFiles, readPemPair } from '#shared/tls.ts'
import { type Finding, failure, ok, shared, warning } from './finding.ts'
import type { Machine } from './machine.ts'
import type { Running } from './running.ts'

const SETTINGS = { cert: 'CARTBARN_TLS_CERT', key: 'CARTBARN_TLS_KEY' }
const SOON_MS = 30 * DAY_MS
const PAGE = 'see docs/security.md, TLS'

/** Checks that the certificate is usable and names this machine, and when it ends. `status`: its state for an admin. */
export async function checkCertificate(
  machine: Machine,
  files: KeyPairFiles | undefined,
  status?: Running['health']['certificate'],
): Promise<Finding> {
  const about = 'certificate'
  if (files === undefined) return shared('certificate_none')
  try {
    const pair = checkPemPair(await readPemPair(files, SETTINGS), SETTINGS)
    const nowMs = machine.nowMs()
    const until = toIso(pair.expiresAtMs).slice(0, 10)
    if (pair.validFromMs > nowMs)
      return failure(about, `valid only from ${toIso(pair.validFromMs)} on`, 'is the clock right? timedatectl')
    if (pair.expiresAtMs < nowMs) return shared('certificate_expired', { until_at: until })
    if (status?.detail !== undefined)
      return shared('certificate_not_renewed', { until_at: until, detail: status.detail })
    const names = ownNames()
    const x509 = new X509Certificate(pair.cert)
    const isOurs = names.some((name) => x509.checkHost(name) ?? x509.checkIP(name))
    if (!isOurs) return warning(about, `names none of ${names.join(', ')}, the names of this machine`, PAGE)
    if (pair.expiresAtMs - nowMs < SOON_MS) return shared('certificate_ends', { until_at: until })
    return ok(about, `valid until ${until}, and fits its key and this machine`)
  } catch (error) {
    return failure(about, describeError(error), PAGE)
  }
}

function ownNames(): string[] {
  const addresses = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ internal, scopeid }) => !internal && !scopeid)
    .map(({ address }) => address)
  return [hostname(), `${hostname()}.local`, ...addresses]
}
