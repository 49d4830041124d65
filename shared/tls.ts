import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { ConfigError, describeError } from './errors.ts'

/** Paths of a certificate (with its chain) and of its private key, in PEM. */
export interface KeyPairFiles {
  certPath: string
  keyPath: string
}

/** Names of the settings with the two paths, for messages. */
export interface KeyPairSettings {
  cert: string
  key: string
}

/** Time after which a client with an unfinished TLS handshake is disconnected. */
export const HANDSHAKE_TIMEOUT_MS = 10_000

export interface PemPair {
  cert: Buffer
  key: Buffer
}

/** Certificate and key that a TLS server can use, with the facts that users need. */
export interface KeyPair extends PemPair {
  subject: string
  validFromMs: number
  expiresAtMs: number
  /** Browsers warn about it unless it is installed as trusted. */
  isSelfSigned: boolean
  /** True if it covers a host, given as an address or a name. */
  isFor: (host: string) => boolean
}

export interface CertificateStatus {
  expiresAtMs: number
  /** Reason why no new one can be issued or loaded; null while all is well. */
  problem: string | null
}

/** Reads the two files. Throws a `ConfigError` that names the setting. */
export async function readPemPair({ certPath, keyPath }: KeyPairFiles, settings: KeyPairSettings): Promise<PemPair> {
  const read = (setting: string, path: string) =>
    readFile(path).catch((error: unknown) => {
      throw new ConfigError(`${setting}: cannot be read: ${describeError(error)}`)
    })
  return { cert: await read(settings.cert, certPath), key: await read(settings.key, keyPath) }
}

/** Verifies that certificate and key match and are usable. Throws a `ConfigError` that names the setting. */
export function checkPemPair({ cert, key }: PemPair, settings: KeyPairSettings): KeyPair {
  const x509 = attempt(settings.cert, 'is not a certificate in PEM form', () => new X509Certificate(cert))
  const privateKey = attempt(settings.key, 'is not a private key in PEM form without a passphrase', () =>
    createPrivateKey(key),
  )
  if (!x509.checkPrivateKey(privateKey))
    throw new ConfigError(`${settings.key}: does not match the certificate in ${settings.cert}`)
  // only OpenSSL itself detects a truncated chain or a weak key
  attempt(settings.cert, 'cannot be used', () => createSecureContext(secureOptions({ cert, key })))
  return {
    cert,
    key,
    // public authorities leave the subject empty and list the hosts as alternative names
    subject: x509.subject?.replaceAll('\n', ', ') || (x509.subjectAltName ?? ''),
    validFromMs: x509.validFromDate.getTime(),
    expiresAtMs: x509.validToDate.getTime(),
    isSelfSigned: x509.verify(x509.publicKey),
    isFor: (host) => (isIP(host) === 0 ? x509.checkHost(host) : x509.checkIP(host)) !== undefined,
  }
}

/** Cipher suites with forward secrecy only. Source: Mozilla, Server Side TLS 5.7, intermediate, without DHE. */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/** Options of every TLS server. */
export function secureOptions({ cert, key }: PemPair): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2', ciphers: CIPHERS }
}

function attempt<T>(setting: string, problem: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new ConfigError(`${setting}: ${problem}: ${describeError(error)}`)
  }
}
