import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HELP, parseOptions, UsageError } from './options.ts'

const env = { CARTBARN_ADMIN_API_KEY: 'from-environment' }

test('the defaults drive live against a gateway on this machine', () => {
  assert.deepEqual(parseOptions([], env), {
    gatewayUrl: 'http://127.0.0.1:8080',
    brokerUrl: 'mqtt://127.0.0.1:1883',
    adminKey: 'from-environment',
    carts: 20,
    days: 1,
    seed: 1,
    speedUp: 1,
    qos: 1,
    historyDays: 0,
    isLive: true,
    durationS: undefined,
    center: { lat: 28.41, long: -81.58 },
    prefix: 'sim',
  })
})

test('the broker is looked for where the gateway is', () => {
  assert.equal(parseOptions(['--url', 'https://barn.local:8443/'], env)?.brokerUrl, 'mqtt://barn.local:1883')
  assert.equal(parseOptions(['--mqtt', 'mqtts://barn.local:8883'], env)?.brokerUrl, 'mqtts://barn.local:8883')
})

test('history alone does not drive live; with --live it does afterwards', () => {
  assert.equal(parseOptions(['--history', '7'], env)?.isLive, false)
  assert.equal(parseOptions(['--history', '7', '--live'], env)?.isLive, true)
})

test('a centre in the southern hemisphere needs no equals sign', () => {
  assert.deepEqual(parseOptions(['--center', '-33.9,18.4'], env)?.center, { lat: -33.9, long: 18.4 })
})

test('--help asks for the text, which names every option', () => {
  assert.equal(parseOptions(['--help', '--carts', '3'], {}), undefined)
  for (const option of [
    'url',
    'mqtt',
    'key',
    'carts',
    'days',
    'seed',
    'speed-up',
    'qos',
    'history',
    'live',
  ]) {
    assert.ok(HELP.includes(`--${option} `), option)
  }
  for (const option of ['duration', 'center', 'prefix', 'help'])
    assert.ok(HELP.includes(`--${option} `), option)
})

test('a wrong option is refused in one line', () => {
  const wrong = [
    ['--bogus'],
    ['stray'],
    ['--carts'],
    ['--carts', '0'],
    ['--carts', '-1'],
    ['--carts', '1.5'],
    ['--qos', '3'],
    ['--speed-up', '0'],
    ['--speed-up', 'fast'],
    ['--duration', ''],
    ['--history', '-2'],
    ['--center', '12'],
    ['--center', '95,10'],
    ['--prefix', 'a/b'],
    ['--url', 'barn'],
    ['--mqtt', 'http://barn'],
  ]
  for (const argv of wrong) {
    assert.throws(
      () => parseOptions(argv, env),
      (error: unknown) => error instanceof UsageError && !error.message.includes('\n'),
      argv.join(' '),
    )
  }
  assert.throws(() => parseOptions([], {}), /admin key/)
})
