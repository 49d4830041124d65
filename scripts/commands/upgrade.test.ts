import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { signingKey } from '#scripts/release/download/signing-key.ts'
import { writeSums } from '#scripts/release/download/sums.ts'
import { programVersion } from '#shared/version.ts'
import { upgrade } from './upgrade.ts'

const onDebian = { skip: spawnSync('dpkg-deb', ['--version']).status === 0 ? false : 'there is no dpkg-deb' }

/** Creates a signed release of these files; returns the command's output for one of them. */
function newRelease(t: TestContext, files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-upgrade-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const key = signingKey({}, join(folder, 'home'))
  writeFileSync(join(folder, 'keys'), `${key.publicKey}\n`)
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  const run = async (name: string, env: NodeJS.ProcessEnv = { CARTBARN_RELEASE_KEYS: join(folder, 'keys') }) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const { signal } = new AbortController()
    const code = await upgrade([name], { env, folder, stdin: new PassThrough(), stdout, stderr, signal })
    return { code, output: `${stdout.read() ?? ''}${stderr.read() ?? ''}` }
  }
  return { folder, run, sign: (...names: string[]) => writeSums(folder, names, key.privateKey) }
}

function buildPackage(
  folder: string,
  fields: { name?: string; version?: string; architecture?: string },
  settings: string | null = null,
): void {
  const root = join(folder, 'root')
  rmSync(root, { recursive: true, force: true })
  mkdirSync(join(root, 'DEBIAN'), { recursive: true, mode: 0o755 })
  const { name = 'cartbarn', version = '99.0.0', architecture = 'amd64' } = fields
  const about = `Package: ${name}\nVersion: ${version}\nArchitecture: ${architecture}\nMaintainer: a <a@b.c>\nDescription: x\n`
  writeFileSync(join(root, 'DEBIAN/control'), about)
  if (settings !== null) {
    mkdirSync(join(root, 'etc/cartbarn'), { recursive: true, mode: 0o755 })
    writeFileSync(join(root, 'etc/cartbarn/cartbarn.conf'), settings)
    writeFileSync(join(root, 'DEBIAN/conffiles'), '/etc/cartbarn/cartbarn.conf\n')
  }
  execFileSync('dpkg-deb', ['--build', root, join(folder, 'a.deb')], { stdio: 'ignore' })
}

/**
 * Provides the real dpkg, with a root of its own in a folder; before it installs, sh runs `before`. Returns that root.
 */
function putDpkg(t: TestContext, folder: string, before = ''): string {
  const [bin, machine] = [join(folder, 'bin'), join(folder, 'machine')]
  for (const made of [bin, join(machine, 'var/lib/dpkg/info'), join(machine, 'var/lib/dpkg/updates')])
    mkdirSync(made, { recursive: true })
  writeFileSync(join(machine, 'var/lib/dpkg/status'), '')
  const real = execFileSync('sh', ['-c', 'command -v dpkg'], { encoding: 'utf8' }).trim()
  const script = `#!/bin/sh
case "$*" in *--install*) ${before === '' ? ':' : before} ;; esac
exec ${real} --root=${machine} "$@"
`
  writeFileSync(join(bin, 'dpkg'), script, { mode: 0o755 })
  const { PATH } = process.env
  process.env.PATH = `${bin}${delimiter}${PATH}`
  t.after(() => {
    process.env.PATH = PATH
  })
  return machine
}

const statusIn = (machine: string) => readFileSync(join(machine, 'var/lib/dpkg/status'), 'utf8')

test('a signed archive is accepted, an altered one is rejected', async (t) => {
  const { folder, run, sign } = newRelease(t, { 'a.tar.xz': 'content' })
  sign('a.tar.xz')
  const good = await run('a.tar.xz')
  assert.deepEqual([good.code, /is as it was signed/.test(good.output)], [0, true], good.output)
  appendFileSync(join(folder, 'a.tar.xz'), '.')
  const bad = await run('a.tar.xz')
  assert.deepEqual(
    [bad.code, bad.output],
    [1, 'upgrade: nothing was changed: a.tar.xz was modified, or copied incompletely\n'],
  )
})

test('a missing file, missing checksums and a source checkout are reported with a remedy', async (t) => {
  const { run } = newRelease(t, { 'a.tar.xz': 'content' })
  for (const [name, env, reason] of [
    ['b.tar.xz', undefined, /there is no .*b\.tar\.xz\n$/],
    ['a.tar.xz', undefined, /SHA256SUMS is missing in .*: put it next to the file/],
    ['a.tar.xz', {}, /runs from its sources: upgrade it with "git pull"/],
  ] as const) {
    const { code, output } = await run(name, env)
    assert.equal(code, 1)
    assert.match(output, reason)
  }
})

test('a signed package of another name, machine or older version is rejected', onDebian, async (t) => {
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
    const { code, output } = await run('a.deb')
    assert.equal(code, 1, output)
    assert.match(output, reason)
  }
})

const OWN = process.arch === 'arm64' ? 'arm64' : 'amd64'
const isRoot = process.geteuid?.() === 0
const asRoot = { skip: onDebian.skip || (isRoot ? false : 'only root installs a package') }

test('a signed package of this version or a later one is installed by root', onDebian, async (t) => {
  for (const version of [programVersion(), '99.0.0']) {
    const { folder, run, sign } = newRelease(t, {})
    const machine = putDpkg(t, folder)
    buildPackage(folder, { architecture: OWN, version })
    sign('a.deb')
    const { code, output } = await run('a.deb')
    assert.equal(code, isRoot ? 0 : 1, output)
    assert.match(output, isRoot ? /^Installed\./m : /only root installs a package/)
    if (isRoot) assert.match(statusIn(machine), new RegExp(`install ok installed[^]*^Version: ${version}$`, 'm'))
  }
})

test('conflicting changes to settings do not stop an upgrade, and the user’s settings stay', asRoot, async (t) => {
  const { folder, run, sign } = newRelease(t, {})
  const machine = putDpkg(t, folder)
  const settings = join(machine, 'etc/cartbarn/cartbarn.conf')
  for (const [version, shipped, of = shipped] of [
    ['99.0.0', 'A=1\n'],
    ['99.1.0', 'A=1\n#B=\n', 'A=2\n'],
    // it is no longer a conffile
    ['99.2.0', null, 'A=2\n'],
    ['99.3.0', null, 'A=2\n'],
  ] as const) {
    if (of !== null && existsSync(settings)) writeFileSync(settings, of)
    buildPackage(folder, { architecture: OWN, version }, shipped)
    sign('a.deb')
    const { code, output } = await run('a.deb')
    assert.equal(code, 0, output)
    assert.match(statusIn(machine), new RegExp(`install ok installed[^]*^Version: ${version}$`, 'm'))
    assert.equal(readFileSync(settings, 'utf8'), of)
  }
})

test('the output of dpkg is shown when it fails', asRoot, async (t) => {
  const { folder, run, sign } = newRelease(t, {})
  const machine = putDpkg(t, folder)
  rmSync(join(machine, 'var/lib/dpkg/status'))
  mkdirSync(join(machine, 'var/lib/dpkg/status'))
  buildPackage(folder, { architecture: OWN })
  sign('a.deb')
  const { code, output } = await run('a.deb')
  assert.equal(code, 1)
  assert.match(output, /^upgrade: dpkg failed:\n.*dpkg.*status/ms)
})

test('a file that changes after its verification is not installed', asRoot, async (t) => {
  const { folder, run, sign } = newRelease(t, {})
  buildPackage(folder, { architecture: OWN, version: '99.9.9' })
  writeFileSync(join(folder, 'other.deb'), readFileSync(join(folder, 'a.deb')))
  buildPackage(folder, { architecture: OWN, version: '99.0.0' })
  sign('a.deb')
  const machine = putDpkg(t, folder, `mv ${join(folder, 'other.deb')} ${join(folder, 'a.deb')}`)
  const { code, output } = await run('a.deb')
  assert.equal(code, 0, output)
  assert.match(statusIn(machine), /^Version: 99\.0\.0$/m)
})
