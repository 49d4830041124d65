import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

const SETUP = join(import.meta.dirname, 'setup.mjs')
/** Address without a server. */
const NO_REGISTRY = 'http://127.0.0.1:9/'

/** Creates a folder with a program of one version whose lock file requires these packages. */
function createProgram(t: TestContext, packages: Record<string, object> = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'cartbarn-setup-test-'))
  t.after(() => rmSync(root, { recursive: true }))
  const about = { name: 'program', version: '2.0.0' }
  const dependencies = Object.fromEntries(Object.keys(packages).map((path) => [path.slice(13), '1.0.0']))
  writeFileSync(join(root, 'package.json'), JSON.stringify({ ...about, dependencies }))
  const lock = { ...about, lockfileVersion: 3, packages: { '': { ...about, dependencies }, ...packages } }
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify(lock))
  return root
}

/** Installs packages of the previous version into a folder. */
function installOld(root: string, folder = 'node_modules'): void {
  mkdirSync(join(root, folder, 'old-package'), { recursive: true })
  writeFileSync(join(root, folder, 'old-package/index.js'), 'old')
  writeFileSync(join(root, folder, '.package-lock.json'), JSON.stringify({ packages: {} }))
}

async function setUp(
  root: string,
  service = false,
  programs?: string,
): Promise<{ code: number | null; output: string }> {
  // systemd passes a service its own process id
  const claim = service ? 'process.env.SYSTEMD_EXEC_PID = String(process.pid);' : ''
  const code = `${claim} const { setUp } = await import(${JSON.stringify(SETUP)});
    await setUp(${JSON.stringify(root)}).catch((error) => { console.error(error.message); process.exitCode = 1 })`
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    npm_config_registry: NO_REGISTRY,
    npm_config_fetch_retries: '0',
  }
  if (programs !== undefined) env.PATH = `${programs}:${env.PATH}`

  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { env })
  let output = ''
  child.stderr.on('data', (data) => {
    output += data
  })
  const [exitCode] = await once(child, 'close')
  return { code: exitCode, output }
}

const ABSENT = {
  'node_modules/absent': {
    version: '1.0.0',
    resolved: `${NO_REGISTRY}absent/-/absent-1.0.0.tgz`,
    integrity: `sha512-${'A'.repeat(86)}==`,
  },
}

test('an upgrade without internet leaves the installed packages, and reports that', async (t) => {
  const root = createProgram(t, ABSENT)
  installOld(root)
  const { code, output } = await setUp(root)
  assert.equal(code, 1)
  assert.match(output, /npm ci failed .* What was installed before is still there/)
  assert.equal(readFileSync(join(root, 'node_modules/old-package/index.js'), 'utf8'), 'old')
  for (const name of ['.node_modules-new', '.node_modules-old']) assert.equal(existsSync(join(root, name)), false)
})

test('new packages replace the old ones', async (t) => {
  const root = createProgram(t)
  rmSync(join(root, 'node_modules'), { force: true })
  const { code, output } = await setUp(root)
  assert.deepEqual([code, output.includes('installing')], [0, true])
  // installed packages are not installed again
  assert.deepEqual(await setUp(root), { code: 0, output: '' })
})

test('packages are restored after an interrupted swap', async (t) => {
  const root = createProgram(t, ABSENT)
  installOld(root)
  renameSync(join(root, 'node_modules'), join(root, '.node_modules-old'))
  assert.equal((await setUp(root)).code, 1)
  assert.equal(existsSync(join(root, 'node_modules/old-package')), true)
})

test('a service installs no packages', async (t) => {
  const root = createProgram(t, ABSENT)
  installOld(root)
  const { code, output } = await setUp(root, true)
  assert.equal(code, 1)
  assert.match(output, /a service does not install/)
  assert.doesNotMatch(output, /installing/)
  assert.equal(existsSync(join(root, 'node_modules/old-package')), true)
})

test('an optional package that npm skips on an older Node is installed by the bundled Node', async (t) => {
  const binary = { version: '1.0.0', optional: true, os: [process.platform], cpu: [process.arch] }
  const root = createProgram(t, { 'node_modules/binary': binary })
  const programs = mkdtempSync(join(tmpdir(), 'cartbarn-setup-test-'))
  t.after(() => rmSync(programs, { recursive: true }))
  // replaces npm: with `ci` it leaves the package out, then it installs what the lock file names
  const npm = `#!/bin/sh
echo "$1 \${PATH%%:*}" >> ${programs}/calls
packages='{}'
[ "$1" = ci ] || packages='{"node_modules/binary":{"version":"1.0.0"}}'
echo "{\\"packages\\":$packages}" > node_modules/.package-lock.json`
  writeFileSync(join(programs, 'npm'), npm, { mode: 0o755 })
  assert.equal((await setUp(root, false, programs)).code, 0)
  const calls = readFileSync(join(programs, 'calls'), 'utf8').trim().split('\n')
  assert.deepEqual(calls, [`ci ${programs}`, `install ${join(root, '.node_modules-new/node_modules/node/bin')}`])
  assert.match(readFileSync(join(root, 'node_modules/.package-lock.json'), 'utf8'), /binary/)
})
