import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'

const SETUP = join(import.meta.dirname, 'setup-dashboard.mjs')
const SOURCE = 'gateway/dashboard/main.tsx'

/** Replaces the real build: the page is the source, and the source controls the behaviour. */
const BUILD = `import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
const [folder, sources] = process.argv.slice(2)
const page = readFileSync('${SOURCE}', 'utf8')
writeFileSync(folder + '/index.html', page)
appendFileSync('builds', 'x')
if (page === 'broken') process.exit(3)
while (page === 'slow' && !existsSync('go')) await setTimeout(20)
const files = { 'index.html': createHash('sha256').update(page).digest('hex') }
writeFileSync(folder + '/build.json', JSON.stringify({ sources, files }))`

/** Creates a folder with a program whose app can be built. */
function createProgram(t: TestContext, page = 'first'): Program {
  const root = mkdtempSync(join(tmpdir(), 'cartbarn-app-test-'))
  t.after(() => rmSync(root, { recursive: true, maxRetries: 5 }))
  const program = new Program(root)
  program.write('scripts/release/build-dashboard.ts', BUILD)
  program.write('package-lock.json', '{}')
  program.write('shared/time.ts', 'export const now = 1')
  program.write(SOURCE, page)
  mkdirSync(join(root, 'tmp'))
  return program
}

class Program {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  path(name: string): string {
    return join(this.#root, name)
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(this.path(name)), { recursive: true })
    writeFileSync(this.path(name), text)
  }

  /** Content of the built page; undefined without a build. */
  get page(): string | undefined {
    const page = this.path('dist/dashboard/index.html')
    return existsSync(page) ? readFileSync(page, 'utf8') : undefined
  }

  /** Number of builds started. */
  get builds(): number {
    return existsSync(this.path('builds')) ? readFileSync(this.path('builds'), 'utf8').length : 0
  }

  /** Runs a start, up to the point where the gateway would begin. */
  start({ service = false, always = false } = {}): Start {
    // systemd passes a service its own process id
    const claim = service ? 'process.env.SYSTEMD_EXEC_PID = String(process.pid);' : ''
    const code = `${claim} const { ${always ? 'buildDashboard' : 'setUpDashboard'}: setUp } = await import(${JSON.stringify(SETUP)});
      await setUp(${JSON.stringify(this.#root)}, process.execPath).catch((error) => { console.error(error.message); process.exitCode = error.exitCode ?? 1 })`
    // the lock is in the folder for temporary files; a separate process group is ended with all its children
    return new Start(
      spawn(process.execPath, ['--input-type=module', '-e', code], {
        env: { ...process.env, TMPDIR: this.path('tmp') },
        stdio: ['ignore', 'ignore', 'pipe'],
        detached: true,
      }),
    )
  }

  setUp(options = {}): Promise<{ code: number | null; output: string }> {
    return this.start(options).end()
  }
}

class Start {
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown[]>
  output = ''

  constructor(child: ChildProcess) {
    this.#child = child
    this.#closed = once(child, 'close')
    child.stderr?.on('data', (data) => {
      this.output += data
    })
  }

  async end(): Promise<{ code: number | null; output: string }> {
    await this.#closed
    return { code: this.#child.exitCode, output: this.output }
  }

  kill(signal: NodeJS.Signals): void {
    const { pid } = this.#child
    assert.ok(pid !== undefined)
    process.kill(signal === 'SIGKILL' ? -pid : pid, signal)
  }
}

test('the app is built once, and again when its sources change', async (t) => {
  const program = createProgram(t)
  const first = await program.setUp()
  assert.deepEqual([first.code, program.page], [0, 'first'])
  assert.match(first.output, /building the app/)
  assert.deepEqual(await program.setUp(), { code: 0, output: '' })
  assert.equal(program.builds, 1)

  program.write(SOURCE, 'second')
  await program.setUp()
  assert.deepEqual([program.page, program.builds], ['second', 2])
  const changes = ['shared/carts/state.ts', 'package-lock.json', 'tsconfig.json', 'gateway/dashboard/ui/list.css']
  for (const [index, name] of changes.entries()) {
    program.write(name, 'changed')
    await program.setUp()
    assert.equal(program.builds, 3 + index, name)
  }
  rmSync(program.path('gateway/dashboard/ui/list.css'))
  await program.setUp()
  assert.equal(program.builds, 7)
})

test('changes to tests and to the gateway itself do not trigger a build', async (t) => {
  const program = createProgram(t)
  await program.setUp()
  for (const name of [
    'gateway/dashboard/live/fleet.test.ts',
    'gateway/dashboard/ui/list.test.tsx',
    'gateway/dashboard/testing/page.ts',
    'shared/testing/clocks.ts',
    'shared/time.test.ts',
    'gateway/gateway.ts',
    'docs/api.md',
    'scripts/setup.mjs',
  ])
    program.write(name, 'changed')
  assert.deepEqual(await program.setUp(), { code: 0, output: '' })
})

test('a failed build keeps the previous one, and does not stop a start', async (t) => {
  const program = createProgram(t)
  await program.setUp()
  program.write(SOURCE, 'broken')
  const { code, output } = await program.setUp()
  assert.deepEqual([code, program.page], [0, 'first'])
  assert.match(output, /build failed \(exit code 3\).* The gateway continues with the one before\. .*npm run build:app/)
  assert.deepEqual(readdirSync(program.path('dist')), ['dashboard'])
  program.write(SOURCE, 'mended')
  await program.setUp()
  assert.equal(program.page, 'mended')
})

test('a failed first build is reported, and does not stop a start', async (t) => {
  const program = createProgram(t, 'broken')
  const { code, output } = await program.setUp()
  assert.deepEqual([code, program.page], [0, undefined])
  assert.match(output, /The gateway continues without it/)
})

test('an unwritable folder is reported, and does not stop a start', async (t) => {
  const program = createProgram(t)
  program.write('dist', 'a file')
  const { code, output } = await program.setUp()
  assert.equal(code, 0)
  assert.match(output, /the app at \/app\/ was not built: .* The gateway continues without it/)
})

test('an interrupted build leaves the previous one, and the next start builds', async (t) => {
  const program = createProgram(t)
  await program.setUp()
  program.write(SOURCE, 'slow')
  const killed = program.start()
  await eventually(() => program.builds === 2, 'the second build', 60_000)
  killed.kill('SIGKILL')
  await killed.end()
  assert.equal(program.page, 'first')

  const lock = readdirSync(program.path('tmp')).find((name) => name.startsWith('cartbarn-setup-'))
  utimesSync(program.path(`tmp/${lock}`), 0, 0)
  program.write('go', '')
  assert.equal((await program.setUp()).code, 0)
  assert.deepEqual([program.page, program.builds], ['slow', 3])
  assert.deepEqual(readdirSync(program.path('dist')), ['dashboard'])
})

test('a start that is stopped while it builds does not start the gateway', async (t) => {
  const program = createProgram(t)
  await program.setUp()
  program.write(SOURCE, 'slow')
  const stopped = program.start()
  await eventually(() => program.builds === 2, 'the second build', 60_000)
  stopped.kill('SIGTERM')
  const { code, output } = await stopped.end()
  assert.deepEqual([code, program.page], [143, 'first'])
  assert.match(output, /stopped by SIGTERM/)
  assert.deepEqual(readdirSync(program.path('dist')), ['dashboard'])
  assert.deepEqual(readdirSync(program.path('tmp')), [])
})

test('a swap interrupted between its moves is undone unless a new build exists', async (t) => {
  const program = createProgram(t)
  await program.setUp()
  renameSync(program.path('dist/dashboard'), program.path('dist/.dashboard-old'))
  assert.deepEqual([(await program.setUp()).output, program.page], ['', 'first'])

  renameSync(program.path('dist/dashboard'), program.path('dist/.dashboard-old'))
  program.write(SOURCE, 'broken')
  assert.match((await program.setUp()).output, /continues with the one before/)
  assert.equal(program.page, 'first')
})

test('a build damaged by a power cut is built again', async (t) => {
  const program = createProgram(t)
  await program.setUp()
  for (const name of ['index.html', 'build.json']) {
    program.write(`dist/dashboard/${name}`, '')
    assert.equal((await program.setUp()).code, 0)
    assert.equal(program.page, 'first', name)
  }
  assert.equal(program.builds, 3)
})

test('of two concurrent starts one builds, and both have the app', async (t) => {
  const program = createProgram(t, 'slow')
  const starts = [program.start(), program.start()]
  const isWaiting = () => starts.some(({ output }) => /another process is setting up/.test(output))
  await eventually(() => program.builds === 1 && isWaiting(), 'one builds, one waits', 60_000)
  program.write('go', '')
  const ends = await Promise.all(starts.map((start) => start.end()))
  assert.deepEqual([ends.map(({ code }) => code), program.builds, program.page], [[0, 0], 1, 'slow'])
})

test('a service does not build, reports that, and starts', async (t) => {
  const program = createProgram(t)
  const { code, output } = await program.setUp({ service: true })
  assert.deepEqual([code, program.builds], [0, 0])
  assert.match(output, /a service does not build it/)
  await program.setUp()
  assert.deepEqual(await program.setUp({ service: true }), { code: 0, output: '' })
})

test('an explicit build request always builds, or fails', async (t) => {
  const program = createProgram(t)
  for (const builds of [1, 2]) {
    assert.equal((await program.setUp({ always: true })).code, 0)
    assert.equal(program.builds, builds)
  }
  program.write(SOURCE, 'broken')
  const { code, output } = await program.setUp({ always: true })
  assert.deepEqual([code, program.page], [1, 'first'])
  assert.match(output, /build failed/)
})
