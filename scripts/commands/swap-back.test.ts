import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { after, before, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { checkUpgrade } from '#gateway/doctor/check-upgrade.ts'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import { programVersion } from '#shared/version.ts'
import { knownSchema } from '#store/migrate.ts'
import { finishReplacement } from '#store/replace/replace-database.ts'
import { backUpBefore } from '#store/upgrade/backup-before.ts'
import { type ProgramRecord, readProgramRecord, writeProgramRecord } from '#store/upgrade/program-record.ts'
import { startGateway } from '#testing/start-gateway.ts'
import { swapBack } from './swap-back.ts'

const NEW = '9.9.9'
const OWN = programVersion()
const NEW_SCHEMA = knownSchema() + 1
/** Last log entry of the new program. */
const LOGGED = JSON.stringify({ level: 'error', reason: 'no such column: tee', msg: 'not started' })
/** Properties that systemd reports for a service that it no longer starts, after eight times. */
const TOO_OFTEN = {
  ActiveState: 'failed',
  Result: 'exit-code',
  ExecMainCode: 1,
  ExecMainStatus: 1,
  ExecMainExitTimestampMonotonic: 40_000_000,
  InactiveExitTimestampMonotonic: 40_001_000,
  InactiveEnterTimestampMonotonic: 45_001_000,
  StateChangeTimestampMonotonic: 45_001_000,
}

const KEEPING_TIMES = { recursive: true, preserveTimestamps: true }

let folderOfBefore: string
const root = mkdtempSync(join(tmpdir(), 'cartbarn-swap-back-'))
before(async () => {
  folderOfBefore = join(root, 'before')
  const gateway = await startGateway()
  await gateway.register('cart-1')
  await gateway.restart(() => cpSync(gateway.config.dataDir, folderOfBefore, KEEPING_TIMES))
  await gateway.stop()
})
after(() => rmSync(root, { recursive: true, force: true }))

type Upgrade = Partial<Pick<ProgramRecord, 'program' | 'openedAtMs'>> & {
  isMigrated?: boolean
  hasCopy?: boolean
}

/** Machine on which this program was upgraded, with the system programs that the command calls. */
class Machine {
  readonly dataDir: string
  readonly programs: string
  readonly #bin: string

  constructor(t: TestContext, upgrade: Upgrade | null = {}) {
    const folder = mkdtempSync(join(root, 'machine-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    this.dataDir = join(folder, 'data')
    this.programs = join(folder, 'programs')
    this.#bin = join(folder, 'bin')
    cpSync(folderOfBefore, this.dataDir, KEEPING_TIMES)
    for (const made of [this.programs, this.#bin]) mkdirSync(made)
    for (const [name, content] of Object.entries({ cartbarn: 'new', 'cartbarn.previous': 'before' }))
      writeFileSync(join(this.programs, name), content)
    if (upgrade !== null) this.#upgrade(upgrade)
    this.#stand('journalctl', `echo '${LOGGED}'`)
    this.installed(NEW)
    this.failsBy({})
  }

  get path(): string {
    return join(this.dataDir, 'cartbarn.db')
  }

  get program(): string {
    return readFileSync(join(this.programs, 'cartbarn'), 'utf8')
  }

  /** Sets the version of the package in the system. */
  installed(version: string): void {
    this.#stand('dpkg-query', `printf 'cartbarn\t%s\n' ${version}`)
  }

  /** Sets the properties that systemd reports for the service. */
  failsBy(more: Record<string, string | number>, config?: string): void {
    const properties = {
      LoadState: 'loaded',
      Environment: `CARTBARN_DATA_DIR=${this.dataDir}`,
      ExecStart: `{ argv[]=/usr/lib/cartbarn/cartbarn run${config === undefined ? '' : ` --config ${config}`} ; }`,
      ...TOO_OFTEN,
      ...more,
    }
    const lines = Object.entries(properties).map(([name, value]) => `${name}=${value}`)
    writeFileSync(join(this.#bin, 'shown'), lines.join('\n'))
    const calls = join(this.#bin, 'calls')
    this.#stand('systemctl', `if [ "$1" = show ]; then cat ${this.#bin}/shown; else echo "$*" >> ${calls}; fi`)
  }

  /** Returns the calls of systemd since the last time. */
  calls(): string[] {
    const path = join(this.#bin, 'calls')
    const calls = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
    rmSync(path, { force: true })
    return calls
  }

  async swapBack(): Promise<{ code: number; output: string }> {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const { signal } = new AbortController()
    const io = { env: this.#env({}), folder: root, stdin: new PassThrough(), stdout, stderr, signal }
    const code = await swapBack(['--programs', this.programs], io)
    return { code, output: `${stdout.read() ?? ''}${stderr.read() ?? ''}` }
  }

  /** Runs the command in a process that is killed at its `step`th rename; false if it has fewer. */
  swapBackKilled(step: number): boolean {
    const killer = new URL('../testing/kill-at-step.ts', import.meta.url).href
    const argv = ['--import', killer, ENTRY, 'swap-back', '--programs', this.programs]
    const env = this.#env({ KILL_AT: String(step) })
    const { signal, status, stderr } = spawnSync(process.execPath, argv, { env, encoding: 'utf8' })
    assert.ok(signal === 'SIGKILL' || status === 0, stderr)
    return signal === 'SIGKILL'
  }

  /** Returns rows and schema of the database that a program would start with. */
  content(): { schema: unknown; devices: unknown } {
    finishReplacement(this.dataDir)
    const db = new Database(this.path, { fileMustExist: true })
    try {
      assert.equal(db.pragma('quick_check', { simple: true }), 'ok')
      const schema = db.pragma('user_version', { simple: true })
      return { schema, devices: db.prepare('SELECT hardware_id FROM device').pluck().all() }
    } finally {
      db.close()
    }
  }

  #env(more: Record<string, string>): NodeJS.ProcessEnv {
    return bareEnvironment({ PATH: `${this.#bin}${delimiter}${process.env.PATH}`, ...more })
  }

  #stand(name: string, script: string): void {
    writeFileSync(join(this.#bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(this.#bin, name), 0o755)
  }

  #upgrade({ program = NEW, openedAtMs = null, isMigrated = true, hasCopy = true }: Upgrade): void {
    const { dataDir, path } = this
    const db = new Database(path)
    // as a start leaves it before it changes anything
    db.pragma('wal_checkpoint(TRUNCATE)')
    db.close()
    const request = { dataDir, path, schema: knownSchema(), atMs: Date.now() }
    const backup = hasCopy ? backUpBefore(request) : null
    const record = { program, previous: OWN, sinceMs: Date.now(), backup, openedAtMs }
    writeProgramRecord(dataDir, record)
    if (!isMigrated) return
    const later = new Database(path)
    later.exec('CREATE TABLE of_the_new_program (tee TEXT); DROP TABLE device_state')
    later.pragma(`user_version = ${NEW_SCHEMA}`)
    later.close()
  }
}

const STARTED = ['reset-failed cartbarn.service', 'start --no-block cartbarn.service']

test('a failing new program is replaced once by the previous one, with the previous database', async (t) => {
  const machine = new Machine(t)
  const { code, output } = await machine.swapBack()
  assert.equal(code, 0, output)
  assert.equal(
    output,
    `cartbarn ${NEW} does not run (it ended with code 1: no such column: tee): ${OWN} is back, with the ` +
      `database from before the upgrade.\n`,
  )
  assert.equal(machine.program, 'before')
  assert.deepEqual(machine.calls(), STARTED)

  const gateway = await startGateway({ CARTBARN_DATA_DIR: machine.dataDir })
  t.after(() => gateway.stop())
  const { body: health } = await gateway.request('GET', '/health')
  assert.equal(health.status, 'ok')
  const { at, ...wentBack } = health.went_back
  assert.deepEqual(wentBack, { from: NEW, to: OWN, detail: 'it ended with code 1: no such column: tee' })
  assert.ok(Date.parse(at) > 0)
  assert.equal('went_back' in (await gateway.request('GET', '/health', { key: null })).body, false)
  const { body: listed } = await gateway.request('GET', '/devices')
  assert.equal(listed.devices.length, 1)
  assert.equal(readProgramRecord(machine.dataDir)?.program, OWN)
  const [finding] = checkUpgrade(machine.dataDir)
  assert.match(finding?.message ?? '', new RegExp(`^${NEW} could not run, and ${OWN} has run again since `))

  const again = await machine.swapBack()
  assert.deepEqual(again, { code: 0, output: 'There is no upgrade to undo: the service is started again.\n' })
  assert.deepEqual(machine.calls(), STARTED)
})

test('a program that has not changed the database is replaced, and the database stays', async (t) => {
  const now = Date.now()
  for (const upgrade of [
    { isMigrated: false },
    // it ended before it could report anything
    { isMigrated: false, program: OWN, openedAtMs: now },
  ]) {
    const machine = new Machine(t, upgrade)
    const { ino } = statSync(machine.path)
    const { code, output } = await machine.swapBack()
    assert.deepEqual([code, machine.program], [0, 'before'], output)
    assert.match(output, new RegExp(`: ${OWN} is back\\.\n$`))
    assert.equal(statSync(machine.path).ino, ino)
    assert.deepEqual(machine.calls(), STARTED)
  }
})

test('a program is restarted, not replaced, if no upgrade failed or acknowledged data would be lost', async (t) => {
  const now = Date.now()
  const cases: [Upgrade | null, RegExp][] = [
    [{ openedAtMs: now - 1000 }, /stays and is started again: 9\.9\.9 has admitted devices since .* so it can run/],
    [{ isMigrated: false, openedAtMs: now - 1000 }, /9\.9\.9 has admitted devices since/],
    [{ isMigrated: false, openedAtMs: now - 7_200_000 }, /9\.9\.9 has admitted devices since/],
    [{ program: OWN, openedAtMs: now - 1000 }, /of a newer program, which left no record/],
    [{ hasCopy: false }, /there is no copy from before/],
  ]
  for (const [upgrade, why] of cases) {
    const machine = new Machine(t, upgrade)
    const content = machine.content()
    const { code, output } = await machine.swapBack()
    assert.deepEqual([code, machine.program], [0, 'new'], output)
    assert.match(output, why)
    assert.deepEqual(machine.content(), content)
    assert.deepEqual(machine.calls(), STARTED)
  }
})

test('if the installed version is this one, no upgrade has failed and no program is replaced', async (t) => {
  const machine = new Machine(t)
  machine.installed(OWN)
  const content = machine.content()
  const { code, output } = await machine.swapBack()
  assert.deepEqual([code, output], [0, 'There is no upgrade to undo: the service is started again.\n'])
  assert.deepEqual([machine.program, machine.content()], ['new', content])
  assert.deepEqual(machine.calls(), STARTED)
})

test('an unusable data folder, or an unknown setting, keeps the new program', async (t) => {
  const unknown = new Machine(t)
  writeFileSync(join(unknown.programs, 'later.conf'), 'CARTBARN_OF_LATER=1\n')
  unknown.failsBy({}, join(unknown.programs, 'later.conf'))
  assert.match((await unknown.swapBack()).output, /CARTBARN_OF_LATER/)
  const gone = new Machine(t)
  rmSync(gone.dataDir, { recursive: true })
  assert.match((await gone.swapBack()).output, /stays and is started again/)
  for (const machine of [unknown, gone]) {
    assert.equal(machine.program, 'new')
    assert.deepEqual(machine.calls(), STARTED)
  }
})

test('a wrong setting, a manual stop and a running service are left unchanged', async (t) => {
  const machine = new Machine(t)
  const cases: [Record<string, string | number>, RegExp][] = [
    [{ ExecMainStatus: 78, InactiveExitTimestampMonotonic: 1 }, /a setting is wrong/],
    [
      { Result: 'timeout', ExecMainCode: 2, ExecMainStatus: 9, InactiveExitTimestampMonotonic: 1 },
      /it was stopped manually/,
    ],
    [{ ActiveState: 'active' }, /it has not failed/],
    [{ ActiveState: 'inactive', ExecMainStatus: 0 }, /it has not failed/],
  ]
  for (const [properties, why] of cases) {
    machine.failsBy(properties)
    const { code, output } = await machine.swapBack()
    assert.equal(code, 0)
    assert.match(output, why)
    assert.deepEqual([machine.program, machine.calls()], ['new', []])
  }
})

test('a service that systemd failed to start after a clean stop is started', async (t) => {
  const machine = new Machine(t, null)
  rmSync(join(machine.programs, 'cartbarn.previous'))
  machine.failsBy({
    Result: 'start-limit-hit',
    ExecMainStatus: 0,
    InactiveExitTimestampMonotonic: 1,
    StateChangeTimestampMonotonic: 46_000_000,
  })
  assert.equal((await machine.swapBack()).code, 0)
  assert.deepEqual(machine.calls(), STARTED)
  // this command was killed after it had reset the failure in systemd
  machine.failsBy({ ActiveState: 'inactive' })
  assert.equal((await machine.swapBack()).code, 0)
  assert.deepEqual(machine.calls(), STARTED)
})

test('a kill at any step leaves a matching program and database, and the next run continues', async (t) => {
  let step = 1
  for (; ; step++) {
    const machine = new Machine(t)
    if (!machine.swapBackKilled(step)) break
    const { schema, devices } = machine.content()
    assert.deepEqual(devices, ['cart-1'], `step ${step}`)
    if (machine.program === 'before') assert.equal(schema, knownSchema(), `step ${step}`)
    else assert.equal(machine.program, 'new')
    machine.calls()
    const { output } = await machine.swapBack()
    assert.deepEqual(
      [machine.program, machine.content()],
      ['before', { schema: knownSchema(), devices: ['cart-1'] }],
      output,
    )
    assert.equal(readProgramRecord(machine.dataDir)?.swappedBack?.to, OWN)
    assert.deepEqual(machine.calls(), STARTED)
  }
  assert.ok(step > 5, `only ${step} steps`)
})
