import { X509Certificate } from 'node:crypto'
import { hostname, networkInterfaces } from 'node:os'
import { UnencryptedClients } from '#services/unencrypted-clients.ts'
import { AuthorityFolder } from '#shared/authority/authority-folder.ts'
import { type HostNames, hostNamesOf } from '#shared/authority/host-names.ts'
import { LeafRenewal } from '#shared/authority/leaf-renewal.ts'
import { Certificate, type CertificateOptions } from '#shared/http/certificate.ts'
import type { Log } from '#shared/log.ts'
import type { Clock } from '#shared/time.ts'
import type { CertificateStatus } from '#shared/tls.ts'
import type { Config } from './config.ts'

/** Returns the current names of this host. */
export function hostNamesNow({ publicUrl }: Pick<Config, 'publicUrl'>, names?: readonly string[]): HostNames {
  const facts = { hostName: hostname(), interfaces: networkInterfaces(), publicUrl }
  return hostNamesOf(names === undefined ? facts : { ...facts, names })
}

/** Builds the TLS context of the gateway; without TLS everything except `authority` is undefined or does nothing. */
export function createTls(config: Config, { clock, log }: { clock: Clock; log: Log }) {
  const { tls, dataDir } = config
  const renewal = tls?.isOfOwnAuthority
    ? new LeafRenewal({ folder: new AuthorityFolder(dataDir), hosts: () => hostNamesNow(config), clock, log })
    : undefined
  const shown = tls && new Certificate(certificateOptions(tls, config, { clock, log }))
  return {
    parts: [renewal, shown].filter((part) => part !== undefined),
    certificate: shown && {
      isFor: (host: string) => shown.isFor(host),
      get expiresAtS() {
        return shown.expiresAtS
      },
      get status(): CertificateStatus {
        const { expiresAtMs, problem } = shown.status
        return { expiresAtMs, problem: renewal?.problem ?? problem }
      },
    },
    /** Undefined without TLS, where all clients are unencrypted. */
    plainHttp: shown && new UnencryptedClients(clock),
    /** Certificate of the authority in the data folder, without its key; undefined if it is missing or unreadable. */
    authority: () => authorityCertificate(config),
    secure: (server: Parameters<Certificate['secure']>[0]) => shown?.secure(server),
    /** Reads the certificate again; renews it first if due. */
    reload: async () => {
      await renewal?.runOnce()
      await shown?.reload()
    },
  }
}

function authorityCertificate({ tls, dataDir }: Config): X509Certificate | undefined {
  if (!tls?.isOfOwnAuthority) return undefined
  try {
    return new X509Certificate(new AuthorityFolder(dataDir).readAuthority())
  } catch {
    return undefined
  }
}

function certificateOptions(
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
