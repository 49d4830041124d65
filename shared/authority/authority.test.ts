import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  BasicConstraints,
  ExtendedKeyUsage,
  GeneralName,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_subjectAltName,
  id_kp_clientAuth,
  id_kp_codeSigning,
  id_kp_emailProtection,
  id_kp_serverAuth,
  id_kp_timeStamping,
  SubjectAlternativeName,
} from '@peculiar/asn1-x509'
import { DAY_MS } from '#shared/time.ts'
import { AUTHORITY_MS, createAuthority, issueLeaf, LEAF_MS, readAuthority } from './authority.ts'
import { extension, signCertificate } from './certificate.ts'

const NOW_MS = Date.UTC(2026, 4, 1, 12)
const NAMES = ['clubhouse', 'clubhouse.local', 'localhost']

function folderOf(t: TestContext): (name: string, content: string) => string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-authority-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return (name, content) => {
    const path = join(folder, name)
    writeFileSync(path, content)
    return path
  }
}

/** Result of OpenSSL's verification of a certificate for a name, at noon on 1 May 2026. */
function verify(t: TestContext, authorityPem: string, leafPem: string, as: readonly string[], purpose = 'sslserver') {
  const file = folderOf(t)
  const { status, stdout, stderr } = spawnSync('openssl', [
    'verify',
    '-x509_strict',
    '-purpose',
    purpose,
    '-attime',
    String(NOW_MS / 1000),
    '-CAfile',
    file('authority.crt', readAuthority(authorityPem).certificate),
    ...as,
    file('leaf.pem', leafPem),
  ])
  return { isTrusted: status === 0, output: `${stdout}${stderr}` }
}

test('OpenSSL trusts a leaf of the authority for its names and private addresses', (t) => {
  const authority = createAuthority(NAMES, NOW_MS)
  const leaf = issueLeaf(
    readAuthority(authority),
    { names: NAMES, addresses: ['127.0.0.1', '192.168.1.20', 'fd00::20'] },
    NOW_MS,
  )
  for (const as of [
    ...NAMES.map((name) => ['-verify_hostname', name]),
    ...['192.168.1.20', 'fd00::20'].map((address) => ['-verify_ip', address]),
  ]) {
    const { isTrusted, output } = verify(t, authority, leaf, as)
    assert.ok(isTrusted, output)
  }
  assert.equal(verify(t, authority, leaf, ['-verify_hostname', 'bank.example']).isTrusted, false)
})

for (const [what, hosts, as] of [
  ['another name', { names: ['bank.example'], addresses: [] }, ['-verify_hostname', 'bank.example']],
  ['a public address', { names: [], addresses: ['8.8.8.8'] }, ['-verify_ip', '8.8.8.8']],
  ['a public address of IPv6', { names: [], addresses: ['2001:db8::1'] }, ['-verify_ip', '2001:db8::1']],
] as const) {
  test(`OpenSSL refuses a leaf for ${what}, though the authority has signed it`, (t) => {
    const authority = createAuthority(NAMES, NOW_MS)
    // simulates the owner of the key, who is not bound by the permitted names
    const stolen = { ...readAuthority(authority), names: ['bank.example'] }
    const leaf = issueLeaf(stolen, { names: [...hosts.names], addresses: [...hosts.addresses] }, NOW_MS)
    const { isTrusted, output } = verify(t, authority, leaf, as)
    assert.equal(isTrusted, false)
    assert.match(output, /permitted subtree violation/)
  })
}

test('OpenSSL refuses what the key of the authority has signed for mail, clients or any other purpose', (t) => {
  const pem = createAuthority(NAMES, NOW_MS)
  const authority = readAuthority(pem)
  assert.equal(authority.isForServersOnly, true)
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signed = (purposes: string[], name: GeneralName) =>
    signCertificate({
      commonName: 'x',
      publicKey,
      issuer: authority,
      validFromMs: NOW_MS - DAY_MS,
      expiresAtMs: NOW_MS + DAY_MS,
      extensions: [
        extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: false })),
        extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage(purposes)),
        extension(id_ce_subjectAltName, false, new SubjectAlternativeName([name])),
      ],
    })
  const own = new GeneralName({ dNSName: 'clubhouse' })
  const mail = new GeneralName({ rfc822Name: 'ceo@bank.example' })
  const uri = new GeneralName({ uniformResourceIdentifier: 'https://bank.example/x' })
  assert.ok(verify(t, pem, signed([id_kp_serverAuth], own), [], 'sslserver').isTrusted)
  for (const [purposes, name, purpose] of [
    [[id_kp_emailProtection], mail, 'smimesign'],
    [[id_kp_emailProtection], own, 'smimesign'],
    [[id_kp_emailProtection], own, 'smimeencrypt'],
    [[id_kp_clientAuth], own, 'sslclient'],
    [[id_kp_timeStamping], own, 'timestampsign'],
    [[id_kp_serverAuth], mail, 'sslserver'],
    [[id_kp_serverAuth], uri, 'sslserver'],
    [[id_kp_codeSigning], mail, 'any'],
  ] as const)
    assert.equal(verify(t, pem, signed([...purposes], name), [], purpose).isTrusted, false, `${purposes} ${purpose}`)
})

test('a leaf leaves out names that the authority does not permit', () => {
  const authority = readAuthority(createAuthority(NAMES, NOW_MS))
  const hosts = { names: ['clubhouse', 'app.clubhouse', 'elsewhere', 'notclubhouse'], addresses: [] }
  assert.equal(
    new X509Certificate(issueLeaf(authority, hosts, NOW_MS)).subjectAltName,
    'DNS:clubhouse, DNS:app.clubhouse',
  )
})

test('an authority lasts ten years and began long ago; a leaf lasts 398 days, and no longer than its authority', () => {
  const pem = createAuthority(NAMES, NOW_MS)
  const authority = readAuthority(pem)
  const own = new X509Certificate(pem)
  assert.equal(own.validFromDate.getTime(), Date.UTC(2020, 0, 1))
  assert.equal(authority.expiresAtMs, NOW_MS + AUTHORITY_MS)
  assert.equal(authority.madeAtMs, NOW_MS)
  assert.deepEqual(authority.names, NAMES)
  assert.equal(own.ca, true)

  const hosts = { names: ['clubhouse'], addresses: [] }
  const leaf = new X509Certificate(issueLeaf(authority, hosts, NOW_MS))
  assert.equal(leaf.validToDate.getTime() - leaf.validFromDate.getTime(), LEAF_MS)
  assert.equal(leaf.validFromDate.getTime(), NOW_MS - 30 * DAY_MS)
  assert.equal(leaf.ca, false)
  const last = new X509Certificate(issueLeaf(authority, hosts, NOW_MS + AUTHORITY_MS - DAY_MS))
  assert.equal(last.validToDate.getTime(), authority.expiresAtMs)
})

test('an authority that is cut short, altered, or has another key is refused in words', () => {
  const pem = createAuthority(NAMES, NOW_MS)
  const other = createAuthority(NAMES, NOW_MS)
  const { certificate } = readAuthority(pem)
  const key = createPrivateKey(other).export({ type: 'pkcs8', format: 'pem' })
  assert.throws(() => readAuthority(''), /no certificate/)
  assert.throws(() => readAuthority(pem.slice(0, 300)), /no certificate/)
  assert.throws(() => readAuthority(pem.slice(0, certificate.length + 60)))
  assert.throws(() => readAuthority(certificate + key), /does not match its certificate/)
  const der = new X509Certificate(pem).raw
  der[der.length - 1] = (der.at(-1) ?? 0) ^ 1
  const altered = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`
  assert.throws(() => readAuthority(pem.replace(certificate, altered)), /modified/)
})
