import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { UsageError } from '#scripts/cli/command.ts'
import { CommandFolder } from '#scripts/testing/command-folder.ts'
import { parseOptions } from './options.ts'
import { simulate } from './simulate.ts'

const io = { env: { CARTBARN_API_KEY: 'from-environment' }, folder: '.', stdout: process.stdout }

test('the defaults drive live against a gateway on this machine', () => {
  assert.deepEqual(parseOptions([], io), {
    gatewayUrl: 'http://127.0.0.1:8080',
    brokerUrl: 'mqtt://127.0.0.1:1883',
    adminKey: 'from-environment',
    enrolmentKey: undefined,
    carts: 20,
    days: 1,
    seed: 1,
    speedUp: 1,
    qos: 1,
    historyDays: 0,
    isLive: true,
    pastDays: 0,
    durationS: undefined,
    center: { lat: 28.41, long: -81.58 },
    prefix: 'sim',
    setsUp: false,
    hasIncidents: true,
  })
})

test('the broker is looked for where the gateway is', () => {
  assert.equal(parseOptions(['--url', 'https://barn.local:8443/'], io).brokerUrl, 'mqtt://barn.local:1883')
  assert.equal(parseOptions(['--mqtt', 'mqtts://barn.local:8883'], io).brokerUrl, 'mqtts://barn.local:8883')
})

test('history alone does not drive live; with --live it does afterwards', () => {
  assert.equal(parseOptions(['--history', '7'], io).isLive, false)
  assert.equal(parseOptions(['--history', '7', '--live'], io).isLive, true)
})

test('a centre in the southern hemisphere needs no equals sign', () => {
  assert.deepEqual(parseOptions(['--center', '-33.9,18.4'], io).center, { lat: -33.9, long: 18.4 })
})

test('--help prints every option', async () => {
  const folder = new CommandFolder()
  after(() => folder.remove())
  const { code, out } = await folder.run(simulate, ['--help', '--carts', '3'])
  assert.equal(code, 0)
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
    'past',
    'duration',
    'center',
    'prefix',
    'set-up',
    'no-incidents',
    'help',
  ]) {
    assert.ok(out.includes(`--${option} `), option)
  }
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
      () => parseOptions(argv, io),
      (error: unknown) => error instanceof UsageError && !error.message.includes('\n'),
      argv.join(' '),
    )
  }
  assert.throws(
    () => parseOptions([], { ...io, env: {} }),
    /an API key is needed: --key, --key-file or CARTBARN_API_KEY/,
  )
})
