import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { GatewayApi } from '#scripts/rig/gateway-api.ts'
import { ADMIN_KEY, startGateway } from '#testing/start-gateway.ts'
import { Campaign } from './campaign.ts'
import { bytesOf } from './fuzz-case.ts'
import { generateCase, kindNames } from './generate.ts'
import { describeCampaign, describeFailure } from './report.ts'

const FIXED_SEED = 1
const DEVICES = [{ hardwareId: 'bench-00002', password: 'p'.repeat(32) }]

for (const [seed, cases] of [
  [FIXED_SEED, 1_200],
  [randomInt(2 ** 31), 800],
] as const) {
  test(`${cases} broken conversations, seed ${seed}, end in nothing but closed connections`, async (t) => {
    const gateway = await startGateway({ CARTBARN_MQTT_FAILED_LOGINS_PER_SECOND: '0' })
    t.after(() => gateway.stop())
    const subject = {
      api: new GatewayApi({ url: gateway.http, apiKey: ADMIN_KEY }),
      mqttPort: Number(new URL(gateway.mqtt).port),
      httpPort: Number(new URL(gateway.http).port),
      mqttUrl: gateway.mqtt,
      realtimeUrl: `${gateway.http.replace('http', 'ws')}/realtime?api_key=${ADMIN_KEY}`,
      // an uncaught error fails the test anyway
      fault: () => null,
    }
    const limits = { cases, seconds: 60, lanes: 16, devices: 48 }
    const report = await new Campaign(subject, { seed, from: 0, ...limits }).run()
    for (const line of describeCampaign(report)) t.diagnostic(line)
    const failures = report.failures.flatMap((failure) => describeFailure(seed, failure))
    assert.deepEqual(failures, [])
    assert.equal(report.done, cases)
  })
}

test('a case depends on its seed and number only', () => {
  for (let number = 0; number < 200; number++) {
    const [one, same, other] = [5, 5, 6].map((seed) => generateCase(seed, number, DEVICES))
    assert.deepEqual(one, same)
    assert.notDeepEqual(one, other)
  }
})

test('every kind comes up, and alone when it is asked for', () => {
  const seen = new Set(Array.from({ length: 2_000 }, (_, i) => generateCase(1, i, DEVICES).kind))
  assert.deepEqual([...seen].sort(), [...kindNames].sort())
  for (const kind of kindNames) {
    const cases = Array.from({ length: 20 }, (_, i) => generateCase(1, i, DEVICES, kind))
    assert.ok(cases.every((fuzzCase) => fuzzCase.kind === kind))
    assert.ok(cases.some((fuzzCase) => bytesOf(fuzzCase).length > 0))
  }
})

test('a case is the same when only its kind is asked for, as the hint after a failure does', () => {
  for (let number = 0; number < 100; number++) {
    const fuzzCase = generateCase(3, number, DEVICES)
    assert.deepEqual(generateCase(3, number, DEVICES, fuzzCase.kind), fuzzCase)
  }
})
