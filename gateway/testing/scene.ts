import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { MqttClient } from 'mqtt'
import type { Overrides } from '#gateway/services.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { MINUTE_MS } from '#shared/time.ts'
import {
  createCallers,
  REFUSED_AS_NO_ADMIN,
  REFUSED_AS_NO_STAFF,
  REFUSED_OUTSIDE_SCOPE,
  REFUSED_WITHOUT_KEY,
  type Who,
} from './callers.ts'
import { Course } from './course/course.ts'
import { type Answer, type Settings, TestGateway } from './start-gateway.ts'

interface SceneOptions {
  settings?: Settings | (() => Settings)
  overrides?: Overrides
  /** Time at the start. */
  nowMs?: number
  /** True for the clock of the computer. */
  isRealTime?: boolean
  /** Registered tee boxes. */
  devices?: readonly string[]
  /** Numbers of groups without zones. */
  groups?: readonly number[]
  /** Devices of the caller in scope; without it no callers are created. */
  inScope?: readonly string[]
  /** True if no time passes between tests with callers. */
  isStill?: boolean
}

type Route = [method: string, path: string, body?: unknown]

const REFUSED = {
  admins: REFUSED_AS_NO_ADMIN,
  staff: REFUSED_AS_NO_STAFF,
  'those in scope': REFUSED_OUTSIDE_SCOPE,
  'any key': REFUSED_WITHOUT_KEY,
}

/** Sets the scene for all tests of a file: a gateway that runs from the first to the last of them. */
export function scene(options: SceneOptions = {}) {
  const { settings, overrides, nowMs, devices = [], groups = [], inScope } = options
  const clock = new FakeClock(nowMs)
  const g = new TestGateway(settings, options.isRealTime ? overrides : { clock, ...overrides })
  const keys = {} as Record<Who, string | null>
  let names = 0

  before(async () => {
    await g.start()
    for (const id of devices) await g.register(id)
    for (const id of groups) await ok(g.post('/groups', { name: `Group ${id}`, group_id: id }), 201)
    if (inScope !== undefined) Object.assign(keys, await createCallers(g, inScope))
  })
  after(() => g.stop())
  // failed keys of one test must not lock out those of the next
  if (inScope !== undefined && !options.isStill) beforeEach(() => clock.advance(MINUTE_MS))

  return {
    g,
    clock,
    keys,
    course: new Course(g, clock),

    /** Returns a name that no other test uses. */
    fresh: (prefix: string) => `${prefix}${++names}`,

    /** Tests that routes reject everyone else. */
    onlyFor(role: keyof typeof REFUSED, ...routes: Route[]): void {
      for (const [method, path, body] of routes)
        for (const [who, status, code] of REFUSED[role])
          test(`${method} ${path}: ${who} gets ${status} ${code}`, () =>
            fails(g.request(method, path, { key: keys[who], body }), status, code))
    },
  }
}

/** Asserts that a request succeeds; returns the body of its response. */
export async function ok(answer: Answer | Promise<Answer>, expected = 200): Promise<Answer['body']> {
  const { status, body } = await answer
  assert.equal(status, expected, JSON.stringify(body))
  return body
}

/** Asserts that a request fails with this status and code; returns the body of its response. */
export async function fails(
  answer: Answer | Promise<Answer>,
  status: number,
  code: string | undefined,
  message?: string,
): Promise<Answer['body']> {
  const { status: answered, body } = await answer
  assert.deepEqual([answered, body.code], [status, code], message)
  return body
}

/** Readings in one message of a device. */
const BATCH = 500

/** Sends a message of a device, anything but a text or bytes as JSON; resolves when it is stored. */
export async function publish(client: MqttClient, topic: string, payload: unknown): Promise<void> {
  const isRaw = typeof payload === 'string' || Buffer.isBuffer(payload)
  await client.publishAsync(topic, isRaw ? payload : JSON.stringify(payload), { qos: 1 })
}

/** Sends any number of readings of a device; resolves when they are stored. */
export async function publishAll(client: MqttClient, topic: string, readings: readonly object[]): Promise<void> {
  for (let at = 0; at < readings.length; at += BATCH) await publish(client, topic, readings.slice(at, at + BATCH))
}

/** Returns a field of each row, or several as an array. */
export function pluck(rows: readonly object[], ...names: string[]): unknown[] {
  return rows.map((row) => {
    const values = names.map((name) => (row as Record<string, unknown>)[name])
    return values.length === 1 ? values[0] : values
  })
}
