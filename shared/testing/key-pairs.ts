import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface CertificateFields {
  commonName?: string
  validFromMs?: number
  expiresAtMs?: number
  /** Private key of an authority in PEM; the certificate is self-signed without it. */
  authorityKey?: string
}

/** A certificate in PEM and its private key. */
export interface TestKeyPair {
  cert: string
  key: string
}

/** Creates a certificate for 127.0.0.1 and localhost (P-256). To trust a self-signed one, make it the only `ca`. */
export function createKeyPair({
  commonName = 'cartbarn test',
  validFromMs = Date.UTC(2020, 0, 1),
  expiresAtMs = Date.UTC(2099, 0, 1),
  authorityKey,
}: CertificateFields = {}): TestKeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const nameOf = (text: string) => sequence(set(sequence(COMMON_NAME, utf8(text))))
  const name = nameOf(commonName)
  const alternativeNames = sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])))
  // TBSCertificate, RFC 5280 section 4.1
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    sequence(ECDSA_WITH_SHA256),
    authorityKey === undefined ? name : nameOf('cartbarn test authority'),
    sequence(time(validFromMs), time(expiresAtMs)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(SUBJECT_ALT_NAME, der(0x04, alternativeNames)))),
  )
  const signature = der(0x03, Buffer.concat([Buffer.alloc(1), sign('sha256', content, authorityKey ?? privateKey)]))
  const certificate = sequence(content, sequence(ECDSA_WITH_SHA256), signature)
  const lines = certificate.toString('base64').replaceAll(/.{64}/g, '$&\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** The two files of a certificate, in a folder of their own until `remove`. */
export class KeyPairFolder {
  readonly #folder = mkdtempSync(join(tmpdir(), 'cartbarn-tls-'))

  constructor(pair: TestKeyPair) {
    this.write(pair)
  }

  get certPath(): string {
    return join(this.#folder, 'cert.pem')
  }

  get keyPath(): string {
    return join(this.#folder, 'key.pem')
  }

  /** Settings that make a gateway use it. */
  get settings(): Record<string, string> {
    return { CARTBARN_TLS_CERT: this.certPath, CARTBARN_TLS_KEY: this.keyPath }
  }

  /** Replaces each file by renaming another into its place. */
  write({ cert, key }: Partial<TestKeyPair>): void {
    if (cert !== undefined) replace(this.certPath, cert)
    if (key !== undefined) replace(this.keyPath, key)
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function replace(path: string, content: string): void {
  writeFileSync(`${path}.new`, content)
  renameSync(`${path}.new`, path)
}

const COMMON_NAME = Buffer.from('0603550403', 'hex')
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex')
const ECDSA_WITH_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex')

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

function set(...parts: Buffer[]): Buffer {
  return der(0x31, Buffer.concat(parts))
}

function utf8(text: string): Buffer {
  return der(0x0c, Buffer.from(text))
}

/** UTCTime to 2049, GeneralizedTime after it: RFC 5280 section 4.1.2.5. */
function time(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)
  return digits < '2050' ? der(0x17, Buffer.from(`${digits.slice(2)}Z`)) : der(0x18, Buffer.from(`${digits}Z`))
}

/** Tag, shortest form of the length, content. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  const lengthBytes = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), content])
}
