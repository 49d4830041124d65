import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { ConfigError, describeError } from './errors.ts'

/** Where a certificate (with its chain) and its private key lie, in PEM. */
export interface KeyPairFiles {
  certPath: string
  keyPath: string
}

/** The settings that name the two files, for messages. */
export interface KeyPairSettings {
  cert: string
  key: string
}

/** A client that has not finished its TLS handshake by then is closed. */
export const HANDSHAKE_TIMEOUT_MS = 10_000

/** The contents of the two files, as they were read. */
export interface PemPair {
  cert: Buffer
  key: Buffer
}

/** A certificate with its key that a TLS server can use, and what people want to know of it. */
export interface KeyPair extends PemPair {
  subject: string
  validFromMs: number
  expiresAtMs: number
  /** Browsers warn of it, unless they were told to trust it. */
  isSelfSigned: boolean
  /** Whether it is for a host, as an address or a name. */
  isFor: (host: string) => boolean
}

/** How a certificate in use is doing. */
export interface CertificateStatus {
  expiresAtMs: number
  /** Why another cannot be made or taken; null while all is well. */
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

/** Makes sure that the two belong together and can be used. Throws a `ConfigError` that names the setting. */
export function checkPemPair({ cert, key }: PemPair, settings: KeyPairSettings): KeyPair {
  const x509 = attempt(settings.cert, 'is no certificate in PEM form', () => new X509Certificate(cert))
  const privateKey = attempt(settings.key, 'is no private key in PEM form without a passphrase', () =>
    createPrivateKey(key),
  )
  if (!x509.checkPrivateKey(privateKey))
    throw new ConfigError(`${settings.key}: is not the key of the certificate in ${settings.cert}`)
  // what only OpenSSL itself finds: a chain that is cut short, a key too weak
  attempt(settings.cert, 'cannot be used', () => createSecureContext(secureOptions({ cert, key })))
  return {
    cert,
    key,
    // public authorities leave the subject empty and name the hosts beside it
    subject: x509.subject?.replaceAll('\n', ', ') || (x509.subjectAltName ?? ''),
    validFromMs: x509.validFromDate.getTime(),
    expiresAtMs: x509.validToDate.getTime(),
    isSelfSigned: x509.verify(x509.publicKey),
    isFor: (host) => (isIP(host) === 0 ? x509.checkHost(host) : x509.checkIP(host)) !== undefined,
  }
}

/** Only suites with forward secrecy. Source: Mozilla, Server Side TLS 5.7, intermediate, without DHE. */
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

/** What every TLS server is given. */
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
