import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

// The tour of README.md, run as by a user who has just started the gateway.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LINES_MAX = 40

const listSchema = z.object({ devices: z.array(z.object({ hardware_id: z.string() })) })

let g: TestGateway
/** Output of the tour, one response each. */
let answers: Record<string, unknown>[]

before(async () => {
  g = await startGateway()
  const printed = await run(prepare(readTour()))
  answers = printed.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
})
after(() => g.stop())

function readTour(): string {
  const readme = readFileSync(`${ROOT}/README.md`, 'utf8')
  const [, tour] = /^## The tour\n(?:(?!^## ).*\n)*?```bash\n([\s\S]*?)^```$/m.exec(readme) ?? []
  return tour ?? assert.fail('README.md has no tour')
}

/** Replaces the values that differ: the key, and the ports of a gateway that is not alone on the machine. */
function prepare(tour: string): string {
  const replacements: [what: string, by: string][] = [
    ['flt_…', ADMIN_KEY],
    ['http://127.0.0.1:8080', g.http],
    ['-p 1883', `-p ${new URL(g.mqtt).port}`],
  ]
  return replacements.reduce((text, [what, by]) => {
    assert.equal(text.split(what).length, 2, `${what} must be there once`)
    return text.replace(what, by)
  }, tour)
}

/** Runs a script in bash; resolves with its output. Rejects if it fails or prints on stderr. */
async function run(script: string): Promise<string> {
  const shell = spawn('bash', ['-c', script], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  const [printed, complaints] = await Promise.all([textOf(shell.stdout), textOf(shell.stderr)])
  // npm comments on the settings of the machine
  const serious = complaints.split('\n').filter((line) => line !== '' && !line.startsWith('npm warn'))
  assert.deepEqual(serious, [], printed)
  return printed
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

async function get(path: string) {
  const { status, body } = await g.request('GET', path)
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

test(`the tour is shorter than ${LINES_MAX} lines`, () => {
  assert.ok(readTour().trimEnd().split('\n').length < LINES_MAX)
})

test('the tour creates a user who sees one cart', async () => {
  const shop = (await get('/users')).find((user: { name: string }) => user.name === 'Pro shop')
  assert.deepEqual([shop.role, shop.allowed_hardware_ids], ['user', ['cart-1']])
})

test('the tour has a cart that reported its position, and the user saw it', async () => {
  const device = await get('/devices/cart-1')
  const { lat, long, speed, battery_voltage } = device.attributes
  assert.deepEqual([lat, long, speed, battery_voltage], [51.5007, -0.1246, 12.5, 48.2])
  assert.equal((await get('/devices/cart-1/gps')).length, 1)
  const { devices } = listSchema.parse(answers.find((answer) => 'devices' in answer))
  assert.deepEqual(devices, [{ hardware_id: 'cart-1' }])
})

test('the tour unlocks the cart remotely', async () => {
  const { events } = await get('/lock-events?hardware_id=cart-1')
  assert.deepEqual(
    events.map(({ event, source }: { event: string; source: string }) => [event, source]),
    [['unlock', 'remote']],
  )
  assert.equal(Number((await get('/devices/cart-1')).attributes.lock_status), 0)
})

test('every response of the tour is a success', () => {
  assert.deepEqual(
    answers.filter((answer) => 'request_id' in answer),
    [],
  )
})

test('the cart is in a group with a configuration and a zone', async () => {
  const [group] = await get('/groups')
  assert.deepEqual([group.name, group.device_count], ['Front nine', 1])
  const config = await get('/devices/cart-1/config')
  assert.equal(config.group_id, group.group_id)
  assert.equal(config.resolved.key_keyless_state, 'keyless')
  const { features } = await get(`/groups/${group.group_id}/geofences`)
  assert.deepEqual(
    features.map(({ properties }: { properties: { name: string } }) => properties.name),
    ['Green 1'],
  )
})

test('the command is completed, and the event includes its requester', async () => {
  const { commands } = await get('/devices/cart-1/commands')
  assert.deepEqual(
    commands.map(({ command, status }: { command: string; status: string }) => [command, status]),
    [['unlock', 'completed']],
  )
  const { events } = await get('/lock-events?hardware_id=cart-1')
  assert.deepEqual(events[0].metadata, { by: 'Jane' })
})
