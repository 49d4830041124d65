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

/** Lifetime of an authority: ten years. */
export const AUTHORITY_MS = 3_653 * DAY_MS
/** Lifetime of a certificate: the browsers' maximum for public authorities. iOS accepts 825 days from a private one. */
export const LEAF_MS = 398 * DAY_MS
/** Backdating of a new certificate, so that tablets whose clocks are up to this far behind accept it. */
export const LEAF_BEGINS_MS = 30 * DAY_MS
/** Earlier than any plausible clock, so that no tablet sees an authority that is not valid yet. */
const AUTHORITY_FROM_MS = Date.UTC(2020, 0, 1)
const NO_HOST = 'invalid'
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/

/** Authority that may sign only for the names of one host. */
export interface Authority {
  /** Certificate in PEM, to be installed on tablets as trusted. */
  certificate: string
  commonName: string
  privateKey: KeyObject
  /** Names that the authority may sign for, including their subdomains; private addresses are permitted in addition. */
  names: readonly string[]
  /** False if the certificate also permits e-mail and client certificates, as those of version 1.0.0 do. */
  isForServersOnly: boolean
  madeAtMs: number
  expiresAtMs: number
}

/** Creates an authority for these names; returns its certificate and private key in one PEM text. */
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
      // limits signed certificates to servers: no e-mail, client authentication or code signing
      extension(id_ce_extKeyUsage, true, new ExtendedKeyUsage([id_kp_serverAuth])),
      extension(id_ce_nameConstraints, true, constraintsOf(names)),
    ],
  })
  return certificate + privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** Reads the output of `createAuthority`. Throws a readable `Error` for anything else. */
export function readAuthority(pem: string): Authority {
  const [certificate] = PEM_CERTIFICATE.exec(pem) ?? []
  if (certificate === undefined) throw new Error('it holds no certificate')
  const x509 = new X509Certificate(certificate)
  const privateKey = createPrivateKey(pem)
  if (!x509.checkPrivateKey(privateKey)) throw new Error('its key does not match its certificate')
  if (!x509.verify(createPublicKey(privateKey))) throw new Error('its certificate was modified')
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

/** True if the authority may sign for this host name: one of its own names or a subdomain. */
export function isPermitted({ names }: Pick<Authority, 'names'>, name: string): boolean {
  return names.some((permitted) => name === permitted || name.endsWith(`.${permitted}`))
}

/** Returns a new key with a 398-day certificate in one PEM text, without what the authority may not sign for. */
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
 * Permits the names with their subdomains, and private addresses. E-mail addresses and URIs are limited to a host that
 * cannot exist (RFC 6761), which excludes all of them. Source: RFC 5280, section 4.2.1.10.
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
