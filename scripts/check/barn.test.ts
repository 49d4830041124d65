import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { eventually } from '#shared/testing/eventually.ts'
import { CommandedDevice } from '#testing/course/commanded-device.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

// Runs docs/barn.md as an installer would, with a cart that stands in the barn.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LIMIT_MS = 60_000
const registeredSchema = z.object({ mqtt: z.object({ password: z.string() }) })
const listSchema = z.object({ carts: z.array(z.unknown()) })
/** Midday in New York; the course closes at eight. */
const START_MS = Date.UTC(2026, 4, 1, 16)
const CLOSING_MS = Date.UTC(2026, 4, 2, 0)

/** Clock that advances, also on request of a test; both of its times agree, as if it was never set. */
class PassingClock {
  readonly #madeAtMs = performance.now()
  #passedMs = 0

  nowMs(): number {
    return Math.round(START_MS + this.monotonicMs() - this.#madeAtMs)
  }

  monotonicMs(): number {
    return performance.now() + this.#passedMs
  }

  passTo(atMs: number): void {
    this.#passedMs += atMs - this.nowMs()
  }
}

/** Shell that executes the page, one block of commands after the other. */
class Shell {
  readonly #process: ChildProcess
  #printed = ''
  #complaints = ''

  constructor() {
    this.#process = spawn('bash', [], { cwd: ROOT, stdio: 'pipe' })
    this.#process.stdout?.on('data', (chunk: Buffer) => {
      this.#printed += chunk.toString()
    })
    this.#process.stderr?.on('data', (chunk: Buffer) => {
      this.#complaints += chunk.toString()
    })
  }

  /** Returns the responses to the commands. */
  async run(commands: string): Promise<Record<string, unknown>[]> {
    this.#printed = ''
    this.#process.stdin?.write(`${commands}\necho END\n`)
    await eventually(() => this.#printed.endsWith('END\n'), 'the commands are done', LIMIT_MS)
    assert.equal(this.#complaints, '')
    const lines = this.#printed.split('\n').slice(0, -2)
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
  }

  stop(): void {
    this.#process.kill()
  }
}

let clock: PassingClock
const shell = new Shell()
let g: TestGateway
let cart: CommandedDevice
/** Blocks of commands by the heading above them. */
let blocks: Map<string, string>

before(async () => {
  // not when this file is read: other tests of the process may take minutes before
  clock = new PassingClock()
  g = await startGateway({ CARTBARN_CLOCK_CONFIRMED_BY: 'admin' }, { clock, isTimeSynchronized: () => true })
  blocks = readBlocks(readFileSync(`${ROOT}/docs/barn.md`, 'utf8'))
  // the installer's clock agrees with the gateway's
  await shell.run(`date() { command date -d "@${START_MS / 1000}" "$@"; }`)
})
after(async () => {
  shell.stop()
  await g.stop()
})

function readBlocks(page: string): Map<string, string> {
  const found = new Map<string, string>()
  let heading = ''
  for (const [, title, commands] of page.matchAll(/^#+ (.*)$|^```bash\n([\s\S]*?)^```$/gm)) {
    if (title !== undefined) heading = title
    else found.set(heading, (found.get(heading) ?? '') + prepare(commands ?? ''))
  }
  return found
}

/** Replaces the values that differ: the key, and the address of a gateway that is not alone on the machine. */
function prepare(commands: string): string {
  return commands.replace('flt_…', ADMIN_KEY).replace('http://127.0.0.1:8080', g.http)
}

/** Runs the commands below a heading; every response must be a success. */
async function follow(heading: string): Promise<Record<string, unknown>[]> {
  const commands = blocks.get(heading) ?? assert.fail(`no commands below ${heading}`)
  const answers = await shell.run(commands)
  const refused = answers.filter((answer) => 'request_id' in answer)
  assert.deepEqual(refused, [])
  return answers
}

function report(lockStatus: number): Promise<unknown> {
  const fields = { lat: 28.41, long: -81.58, speed: 0, battery_voltage: 49.2, lock_status: lockStatus }
  const payload = JSON.stringify({ ts: clock.nowMs(), ...fields })
  return cart.client.publishAsync('dev/tb-17/tlm', payload, { qos: 1 })
}

async function cartNow() {
  const { status, body } = await g.request('GET', '/carts/17')
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

test('two devices are one cart, and it reports its position', async () => {
  await follow('Set up a barn that locks itself')
  const [teebox, , list] = await follow('1. The carts')
  const { password } = registeredSchema.parse(teebox).mqtt
  assert.equal(listSchema.parse(list).carts.length, 1)
  cart = await CommandedDevice.connect(g, 'tb-17', password)
  await report(0)
  await eventually(async () => (await cartNow()).position !== null, 'a position')
})

test('the barn is drawn, and the cart is in it', async () => {
  const answers = await follow('2. The barn')
  assert.equal(answers.at(-1)?.state, 'in')
})

test('the settings are accepted, and the auto-lock is inactive until the clock is confirmed', async () => {
  const [site] = await follow('3. The course')
  assert.equal(site?.time_zone, 'America/New_York')
  assert.equal((await cartNow()).auto_lock_at, null)
  const [health, confirmed] = await follow('4. The clock')
  assert.notEqual(health?.clock, 'confirmed')
  assert.equal(confirmed?.clock, 'confirmed')
  await eventually(async () => (await cartNow()).auto_lock_at !== null, 'it is to be locked')
})

test('the shop locks all carts in the barn immediately', async () => {
  const answers = await follow('5. The evening')
  const results = answers.flatMap(({ results: each }) => each ?? [])
  assert.equal(results.length, 1)
  const { id, cmd } = await cart.next()
  assert.equal(cmd, 'lock')
  await obey(id)
})

test('a cart that stands unlocked is locked automatically', async () => {
  await report(0)
  await eventually(async () => (await cartNow()).auto_lock_at !== null, 'it is to be locked')
  clock.passTo(Date.parse((await cartNow()).auto_lock_at) + 1000)
  await report(0)
  const { id, cmd } = await cart.next()
  assert.equal(cmd, 'lock')
  assert.equal(await requestedBy(id), 'auto-lock')
  await obey(id)
})

test('at eight the barn locks automatically', async () => {
  clock.passTo(CLOSING_MS - 60_000)
  await report(0)
  await eventually(async () => (await cartNow()).lock?.is_locked === false, 'unlocked')
  clock.passTo(CLOSING_MS + 1000)
  const { id, cmd } = await cart.next()
  assert.equal(cmd, 'lock')
  assert.equal(await requestedBy(id), 'closing')
  await obey(id)
})

test('the other examples on the page also work', async () => {
  const answers = await follow('How it works')
  assert.ok(answers.some((answer) => 'webhook' in answer) && answers.some((answer) => 'notifier' in answer))
  assert.ok(answers.some((answer) => 'recall_id' in answer))
})

/** Changes the lock and reports it. */
async function obey(id: string): Promise<void> {
  const event = { event: 'lock', source: 'remote', cmd: id, ts: clock.nowMs() }
  await cart.client.publishAsync('dev/tb-17/evt', JSON.stringify(event), { qos: 1 })
  await cart.client.publishAsync('dev/tb-17/ack', JSON.stringify({ id, st: 'completed' }), { qos: 1 })
  await eventually(async () => (await cartNow()).lock?.is_locked === true, 'locked')
}

async function requestedBy(commandId: string): Promise<string> {
  return (await g.request('GET', `/commands/${commandId}`)).body.requested_by
}
