import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from 'node:crypto'
import { AsnConvert } from '@peculiar/asn1-schema'
import {
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  GeneralName,
  GeneralSubtree,
  GeneralSubtrees,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_nameConstraints,
  id_ce_subjectAltName,
  id_kp_serverAuth,
  KeyUsage,
  KeyUsageFlags,
  NameConstraints,
  SubjectAlternativeName,
} from '@peculiar/asn1-x509'
import { DAY_MS } from '#shared/time.ts'
import { extension, signCertificate } from './certificate.ts'
import { type HostNames, PRIVATE_NETWORKS } from './host-names.ts'

/** How long an authority is trusted: ten years. */
export const AUTHORITY_MS = 3_653 * DAY_MS
/** The longest that browsers take of a public authority; iOS takes 825 days of one of ours. */
export const LEAF_MS = 398 * DAY_MS
/** Clocks of tablets that are behind by up to this take a new certificate too. */
export const LEAF_BEGINS_MS = 30 * DAY_MS
/** Before any clock that is right, so that no tablet finds an authority too young. */
const AUTHORITY_FROM_MS = Date.UTC(2020, 0, 1)
const NO_HOST = 'invalid'
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/

/** An authority that signs for the names of one machine only. */
export interface Authority {
  /** In PEM: what tablets are told to trust. */
  certificate: string
  commonName: string
  privateKey: KeyObject
  /** It signs for these and what is below them, and for private addresses. */
  names: readonly string[]
  /** False: its certificate also lets it sign for mail and clients, as those of version 1.0.0 do. */
  isForServersOnly: boolean
  madeAtMs: number
  expiresAtMs: number
}

/** Makes an authority for some names; returns its certificate and its private key in one PEM text. */
export function createAuthority(names: readonly string[], nowMs: number): string {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const commonName = `cartbarn ${names[0] ?? ''} ${randomBytes(3).toString('hex')}`
  const certificate = signCertificate({
    commonName,
    publicKey,
    validFromMs: AUTHORITY_FROM_MS,
    expiresAtMs: nowMs + AUTHORITY_MS,
    issuer: { commonName, privateKey },
    extensions: [
      extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: true, pathLenConstraint: 0 })),
      extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign)),
      // what it signs is for servers only: neither for mail nor for clients that sign in, nor for programs
      extension(id_ce_extKeyUsage, true, new ExtendedKeyUsage([id_kp_serverAuth])),
      extension(id_ce_nameConstraints, true, constraintsOf(names)),
    ],
  })
  return certificate + privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** Reads what `createAuthority` has made. Throws an `Error` in words for anything else. */
export function readAuthority(pem: string): Authority {
  const [certificate] = PEM_CERTIFICATE.exec(pem) ?? []
  if (certificate === undefined) throw new Error('it holds no certificate')
  const x509 = new X509Certificate(certificate)
  const privateKey = createPrivateKey(pem)
  if (!x509.checkPrivateKey(privateKey)) throw new Error('its key is not the one of its certificate')
  if (!x509.verify(createPublicKey(privateKey))) throw new Error('its certificate was altered')
  const expiresAtMs = x509.validToDate.getTime()
  return {
    certificate,
    commonName: (x509.subject ?? '').replace(/^CN=/, ''),
    privateKey,
    names: permittedNames(x509),
    isForServersOnly: x509.keyUsage?.join() === id_kp_serverAuth,
    madeAtMs: expiresAtMs - AUTHORITY_MS,
    expiresAtMs,
  }
}

/** Whether an authority may sign for a name of a host: its own names, and what is below them. */
export function isPermitted({ names }: Pick<Authority, 'names'>, name: string): boolean {
  return names.some((permitted) => name === permitted || name.endsWith(`.${permitted}`))
}

/**
 * Signs a new certificate with a new key, of 398 days; returns both in one PEM text. Leaves out what it may not sign
 * for.
 */
export function issueLeaf(authority: Authority, { names, addresses }: HostNames, nowMs: number): string {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const permitted = names.filter((name) => isPermitted(authority, name))
  const validFromMs = nowMs - LEAF_BEGINS_MS
  const certificate = signCertificate({
    commonName: permitted[0] ?? 'cartbarn',
    publicKey,
    validFromMs,
    expiresAtMs: Math.min(validFromMs + LEAF_MS, authority.expiresAtMs),
    issuer: authority,
    extensions: [
      extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: false })),
      extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.digitalSignature)),
      extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([id_kp_serverAuth])),
      extension(
        id_ce_subjectAltName,
        false,
        new SubjectAlternativeName([
          ...permitted.map((dNSName) => new GeneralName({ dNSName })),
          ...addresses.map((iPAddress) => new GeneralName({ iPAddress })),
        ]),
      ),
    ],
  })
  return certificate + privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/**
 * The names are permitted with what is below them, and of addresses only private ones. Of mail addresses and URIs only
 * those of a host that no one can have (RFC 6761), so none. Source: RFC 5280, section 4.2.1.10.
 */
function constraintsOf(names: readonly string[]): NameConstraints {
  const permitted = [
    ...names.map((dNSName) => new GeneralName({ dNSName })),
    ...PRIVATE_NETWORKS.map(([network, bits]) => new GeneralName({ iPAddress: `${network}/${bits}` })),
    new GeneralName({ rfc822Name: NO_HOST }),
    new GeneralName({ uniformResourceIdentifier: NO_HOST }),
  ]
  return new NameConstraints({
    permittedSubtrees: new GeneralSubtrees(permitted.map((base) => new GeneralSubtree({ base }))),
  })
}

function permittedNames(x509: X509Certificate): string[] {
  const { extensions = [] } = AsnConvert.parse(x509.raw, Certificate).tbsCertificate
  const found = extensions.find(({ extnID }) => extnID === id_ce_nameConstraints)
  if (found === undefined) throw new Error('its certificate is not limited to names')
  const { permittedSubtrees = [] } = AsnConvert.parse(found.extnValue.buffer, NameConstraints)
  return [...permittedSubtrees].flatMap(({ base: { dNSName } }) => (dNSName === undefined ? [] : [dNSName]))
}
