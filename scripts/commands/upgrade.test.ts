import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { signingKey } from '#scripts/release/download/signing-key.ts'
import { writeSums } from '#scripts/release/download/sums.ts'
import { programVersion } from '#shared/version.ts'
import { upgrade } from './upgrade.ts'

const onDebian = { skip: spawnSync('dpkg-deb', ['--version']).status === 0 ? false : 'there is no dpkg-deb' }

/** A signed release of these files, and what the command says of one of them. */
function newRelease(t: TestContext, files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-upgrade-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const key = signingKey({}, join(folder, 'home'))
  writeFileSync(join(folder, 'keys'), `${key.publicKey}\n`)
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  const run = async (
    name: string,
    env: NodeJS.ProcessEnv = { CARTBARN_RELEASE_KEYS: join(folder, 'keys') },
  ) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const { signal } = new AbortController()
    const code = await upgrade([name], { env, folder, stdin: new PassThrough(), stdout, stderr, signal })
    return { code, said: `${stdout.read() ?? ''}${stderr.read() ?? ''}` }
  }
  return { folder, run, sign: (...names: string[]) => writeSums(folder, names, key.privateKey) }
}

function buildPackage(
  folder: string,
  fields: { name?: string; version?: string; architecture?: string },
): void {
  const root = join(folder, 'root')
  mkdirSync(join(root, 'DEBIAN'), { recursive: true, mode: 0o755 })
  const { name = 'cartbarn', version = '99.0.0', architecture = 'amd64' } = fields
  const about = `Package: ${name}\nVersion: ${version}\nArchitecture: ${architecture}\nMaintainer: a <a@b.c>\nDescription: x\n`
  writeFileSync(join(root, 'DEBIAN/control'), about)
  execFileSync('dpkg-deb', ['--build', root, join(folder, 'a.deb')], { stdio: 'ignore' })
}

/** In place of dpkg: one that compares versions as it does, and only says what it would install. */
function putDpkg(t: TestContext, folder: string): void {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const real = execFileSync('sh', ['-c', 'command -v dpkg'], { encoding: 'utf8' }).trim()
  const script = `#!/bin/sh\nif [ "$1" = --install ]; then echo "installs $2"; else exec ${real} "$@"; fi\n`
  writeFileSync(join(bin, 'dpkg'), script, { mode: 0o755 })
  const { PATH } = process.env
  process.env.PATH = `${bin}${delimiter}${PATH}`
  t.after(() => {
    process.env.PATH = PATH
  })
}

test('an archive that was signed is taken, an altered one is not', async (t) => {
  const { folder, run, sign } = newRelease(t, { 'a.tar.xz': 'content' })
  sign('a.tar.xz')
  const good = await run('a.tar.xz')
  assert.deepEqual([good.code, /is as it was signed/.test(good.said)], [0, true], good.said)
  appendFileSync(join(folder, 'a.tar.xz'), '.')
  const bad = await run('a.tar.xz')
  assert.deepEqual(
    [bad.code, bad.said],
    [1, 'upgrade: nothing was changed: a.tar.xz was altered, or not copied as a whole\n'],
  )
})

test('without a file, without sums and from the sources it says the way out', async (t) => {
  const { run } = newRelease(t, { 'a.tar.xz': 'content' })
  for (const [name, env, reason] of [
    ['b.tar.xz', undefined, /there is no .*b\.tar\.xz\n$/],
    ['a.tar.xz', undefined, /there is no SHA256SUMS in .*: put it there/],
    ['a.tar.xz', {}, /runs from its sources: upgrade it with "git pull"/],
  ] as const) {
    const { code, said } = await run(name, env)
    assert.equal(code, 1)
    assert.match(said, reason)
  }
})

test('a signed package of another name, machine or older version is refused', onDebian, async (t) => {
  const own = process.arch === 'arm64' ? 'arm64' : 'amd64'
  const other = own === 'amd64' ? 'arm64' : 'amd64'
  for (const [fields, reason] of [
    [{ name: 'other', architecture: own }, /is the package other\n$/],
    [{ architecture: other }, new RegExp(`the package is for ${other}, this machine is ${own}\n$`)],
    [{ architecture: own, version: '0.0.1' }, /is version 0\.0\.1, older than .* go back\n$/],
  ] as const) {
    const { folder, run, sign } = newRelease(t, {})
    buildPackage(folder, fields)
    sign('a.deb')
    const { code, said } = await run('a.deb')
    assert.equal(code, 1, said)
    assert.match(said, reason)
  }
})

test('a signed package of this version or a later one is installed by root', onDebian, async (t) => {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'
  for (const version of [programVersion(), '99.0.0']) {
    const { folder, run, sign } = newRelease(t, {})
    putDpkg(t, folder)
    buildPackage(folder, { architecture, version })
    sign('a.deb')
    const { code, said } = await run('a.deb')
    const isRoot = process.geteuid?.() === 0
    assert.equal(code, isRoot ? 0 : 1, said)
    assert.match(said, isRoot ? /^installs .*a\.deb$/m : /only root installs a package/)
  }
})
