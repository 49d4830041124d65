import { createHash, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  Certificate,
  Extension,
  Extensions,
  id_ce_authorityKeyIdentifier,
  id_ce_subjectKeyIdentifier,
  KeyIdentifier,
  Name,
  RelativeDistinguishedName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509'

const COMMON_NAME = '2.5.4.3'
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2'

export interface CertificateContent {
  commonName: string
  publicKey: KeyObject
  validFromMs: number
  expiresAtMs: number
  issuer: { commonName: string; privateKey: KeyObject }
  extensions: readonly Extension[]
}

/** Signs a version 3 certificate with a P-256 key; returns it in PEM. Source: RFC 5280, section 4.1. */
export function signCertificate(content: CertificateContent): string {
  const { publicKey, issuer } = content
  const issuerKey = createPublicKey(issuer.privateKey)
  const algorithm = new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 })
  const body = new TBSCertificate({
    version: Version.v3,
    // keeps the serial number positive and of full length for any random bits
    serialNumber: bytesOf(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    signature: algorithm,
    issuer: nameOf(issuer.commonName),
    validity: new Validity({
      notBefore: new Date(content.validFromMs),
      notAfter: new Date(content.expiresAtMs),
    }),
    subject: nameOf(content.commonName),
    subjectPublicKeyInfo: publicKeyOf(publicKey),
    extensions: new Extensions([
      ...content.extensions,
      extension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(keyIdentifier(publicKey))),
      extension(
        id_ce_authorityKeyIdentifier,
        false,
        new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(keyIdentifier(issuerKey)) }),
      ),
    ]),
  })
  const signed = Buffer.from(AsnConvert.serialize(body))
  const certificate = new Certificate({
    tbsCertificate: body,
    // the exact bytes that were signed
    tbsCertificateRaw: bytesOf(signed),
    signatureAlgorithm: algorithm,
    signatureValue: bytesOf(sign('sha256', signed, issuer.privateKey)),
  })
  const lines = Buffer.from(AsnConvert.serialize(certificate)).toString('base64').replaceAll(/.{64}/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${lines.trimEnd()}\n-----END CERTIFICATE-----\n`
}

/** Builds an extension; `value` has the structure that its id requires. */
export function extension(id: string, critical: boolean, value: unknown): Extension {
  return new Extension({
    extnID: id,
    critical,
    extnValue: new OctetString(AsnConvert.serialize(value)),
  })
}

function nameOf(commonName: string): Name {
  const value = new AttributeValue({ utf8String: commonName })
  return new Name([new RelativeDistinguishedName([new AttributeTypeAndValue({ type: COMMON_NAME, value })])])
}

function publicKeyOf(key: KeyObject): SubjectPublicKeyInfo {
  return AsnConvert.parse(key.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo)
}

/** Source: RFC 5280, section 4.2.1.2, method 1. */
function keyIdentifier(key: KeyObject): ArrayBuffer {
  const bits = Buffer.from(publicKeyOf(key).subjectPublicKey)
  return bytesOf(createHash('sha1').update(bits).digest())
}

function bytesOf(buffer: Buffer): ArrayBuffer {
  return new Uint8Array(buffer).buffer
}
