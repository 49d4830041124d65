import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ReleaseError, verifyRelease, verifyReleaseFile } from '#shared/release/verify-release.ts'
import { signingKey } from './signing-key.ts'
import { writeSums } from './sums.ts'

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-sums-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Creates a signed release of two files. */
function newRelease(t: TestContext) {
  const key = signingKey({}, newFolder(t))
  const folder = newFolder(t)
  for (const name of ['a.deb', 'b.tar.xz']) writeFileSync(join(folder, name), `content of ${name}`)
  writeSums(folder, ['b.tar.xz', 'a.deb'], key.privateKey)
  const path = (name: string) => join(folder, name)
  const refusal = (keys: readonly string[], reason: RegExp) => {
    assert.throws(
      () => verifyRelease(folder, keys),
      (error) => error instanceof ReleaseError && reason.test(error.message),
    )
  }
  return { folder, path, refusal, keys: [key.publicKey], key }
}

test('what was signed is taken, by any of the keys, as a whole and file by file', (t) => {
  const { folder, path, keys } = newRelease(t)
  const other = signingKey({}, newFolder(t)).publicKey
  verifyRelease(folder, [other, ...keys])
  verifyReleaseFile(path('a.deb'), keys)
})

test('an altered file is refused', (t) => {
  const { path, refusal, keys } = newRelease(t)
  appendFileSync(path('a.deb'), '.')
  refusal(keys, /a\.deb was modified/)
  assert.throws(() => verifyReleaseFile(path('a.deb'), keys), /a\.deb was modified/)
  verifyReleaseFile(path('b.tar.xz'), keys)
})

test('altered sums are refused, and so are those of another key or of none', (t) => {
  const { path, refusal, keys } = newRelease(t)
  refusal([signingKey({}, newFolder(t)).publicKey], /not signed with a key/)
  refusal([], /not signed with a key/)
  const sums = readFileSync(path('SHA256SUMS'))
  appendFileSync(path('SHA256SUMS'), `${'0'.repeat(64)}  c.deb\n`)
  refusal(keys, /not signed with a key/)
  writeFileSync(path('SHA256SUMS'), sums)
  writeFileSync(path('SHA256SUMS.sig'), 'not a signature')
  refusal(keys, /not signed with a key/)
})

test('without sums, signature or a file of the release it is refused', (t) => {
  for (const [name, reason] of [
    ['SHA256SUMS', /SHA256SUMS is missing in/],
    ['SHA256SUMS.sig', /SHA256SUMS\.sig is missing in/],
    ['a.deb', /a\.deb is missing/],
  ] as const) {
    const { path, refusal, keys } = newRelease(t)
    rmSync(path(name))
    refusal(keys, reason)
  }
})

test('a file that is not in the sums is refused', (t) => {
  const { path, refusal, keys } = newRelease(t)
  writeFileSync(path('c.deb'), 'another')
  refusal(keys, /c\.deb is not a file of this release/)
  assert.throws(() => verifyReleaseFile(path('c.deb'), keys), /c\.deb is not listed in the adjacent SHA256SUMS/)
})

test('signed sums that lead out of their folder are refused', (t) => {
  const { folder, path, refusal, keys, key } = newRelease(t)
  writeFileSync(join(folder, '..', 'cartbarn-outside'), '')
  t.after(() => rmSync(join(folder, '..', 'cartbarn-outside')))
  writeSums(folder, ['../cartbarn-outside'], key.privateKey)
  refusal(keys, /SHA256SUMS contains an invalid line/)
  writeFileSync(path('SHA256SUMS'), Buffer.alloc(70_000))
  refusal(keys, /too long/)
})

test('sha256sum and openssl check the same files by hand', (t) => {
  const { folder, path, key } = newRelease(t)
  const run = (command: string, args: string[]) => spawnSync(command, args, { cwd: folder, encoding: 'utf8' })
  const sums = run('sha256sum', ['-c', 'SHA256SUMS'])
  assert.equal(sums.status, 0, sums.stderr)
  writeFileSync(path('signature'), Buffer.from(readFileSync(path('SHA256SUMS.sig'), 'utf8'), 'base64'))
  const args = ['pkeyutl', '-verify', '-rawin', '-inkey', key.path, '-in', 'SHA256SUMS', '-sigfile', 'signature']
  const openssl = run('openssl', args)
  assert.equal(openssl.status, 0, openssl.stderr)
})

test('a key is made once, for its owner only; one that is named is never made', (t) => {
  const home = newFolder(t)
  const made = signingKey({}, home)
  assert.equal(statSync(made.path).mode & 0o777, 0o600)
  const again = signingKey({}, home)
  assert.deepEqual([made.isNew, again.isNew, again.publicKey], [true, false, made.publicKey])
  assert.equal(signingKey({ CARTBARN_RELEASE_KEY_FILE: made.path }, '/nowhere').publicKey, made.publicKey)
  assert.throws(() => signingKey({ CARTBARN_RELEASE_KEY_FILE: join(home, 'other.pem') }, home), /ENOENT/)
})
