import { X509Certificate } from 'node:crypto'
import { hostname, networkInterfaces } from 'node:os'
import { AuthorityFolder } from '#shared/authority/authority-folder.ts'
import { type HostNames, hostNamesOf } from '#shared/authority/host-names.ts'
import { LeafRenewal } from '#shared/authority/leaf-renewal.ts'
import type { Certificate, CertificateOptions } from '#shared/http/certificate.ts'
import type { Log } from '#shared/log.ts'
import type { Clock } from '#shared/time.ts'
import type { CertificateStatus } from '#shared/tls.ts'
import type { Config } from './config.ts'

/** What this machine is called now. */
export function hostNamesNow({ publicUrl }: Pick<Config, 'publicUrl'>, names?: readonly string[]): HostNames {
  const facts = { hostName: hostname(), interfaces: networkInterfaces(), publicUrl }
  return hostNamesOf(names === undefined ? facts : { ...facts, names })
}

/** Keeps the certificate of the authority in the data folder one that browsers take. */
export function renewalOf(config: Config, { clock, log }: { clock: Clock; log: Log }): LeafRenewal {
  const folder = new AuthorityFolder(config.dataDir)
  return new LeafRenewal({ folder, hosts: () => hostNamesNow(config), clock, log })
}

/** The certificate of the authority in the data folder, without its key; undefined without one that can be read. */
export function authorityCertificate({ tls, dataDir }: Config): X509Certificate | undefined {
  if (!tls?.isOfOwnAuthority) return undefined
  try {
    return new X509Certificate(new AuthorityFolder(dataDir).readAuthority())
  } catch {
    return undefined
  }
}

/** The certificate that a gateway shows, and whether it can be renewed. */
export function certificateWatch(certificate: Certificate, renewal: LeafRenewal | undefined) {
  return {
    isFor: (host: string) => certificate.isFor(host),
    get status(): CertificateStatus {
      const { expiresAtMs, problem } = certificate.status
      return { expiresAtMs, problem: renewal?.problem ?? problem }
    },
  }
}

/** How the certificate of a gateway is read and judged. */
export function certificateOptions(
  { isOfOwnAuthority, ...files }: NonNullable<Config['tls']>,
  { publicUrl }: Pick<Config, 'publicUrl'>,
  { clock, log }: { clock: Clock; log: Log },
): CertificateOptions {
  return {
    files,
    isOfOwnAuthority,
    clock,
    log,
    settings: { cert: 'CARTBARN_TLS_CERT', key: 'CARTBARN_TLS_KEY' },
    publicHost: publicUrl?.startsWith('https:') ? new URL(publicUrl).hostname : undefined,
  }
}
