import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ConfigError } from '#shared/errors.ts'
import { describeHubSettings, readHubConfig } from './config.ts'

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-hub-config-'))
after(() => rmSync(folder, { recursive: true }))
const KEY = 'a-key-of-at-least-24-characters'

/** Returns the lines of the error. */
function refusalOf(environment: Record<string, string>): string[] {
  try {
    readHubConfig(environment)
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.message.split('\n')
  }
  assert.fail('was accepted')
}

test('the key of the first admin may be in a file, but not in both places', () => {
  const path = join(folder, 'key.txt')
  writeFileSync(path, `${KEY}\n`)
  const CARTBARN_HUB_ADMIN_API_KEY_FILE = path
  assert.equal(readHubConfig({ CARTBARN_HUB_ADMIN_API_KEY_FILE }).adminApiKey, KEY)
  assert.deepEqual(refusalOf({ CARTBARN_HUB_ADMIN_API_KEY_FILE, CARTBARN_HUB_ADMIN_API_KEY: KEY }), [
    'CARTBARN_HUB_ADMIN_API_KEY_FILE: must not be given together with CARTBARN_HUB_ADMIN_API_KEY',
  ])
})

test('a URL of several servers, or an unreadable one, is rejected by the name of its setting', () => {
  for (const [url, words] of [
    ['postgres://u:p@a:1,b:2/db?target_session_attrs=read-write', /^CARTBARN_HUB_DATABASE_URL: names several servers/],
    ['postgresql://a,b/db', /names several servers/],
    ['postgres://u@/db?host=a,b', /names several servers/],
    ['postgres://u@a/db?port=1,2', /names several servers/],
    ['postgres://u:secret@a:port/db', /^CARTBARN_HUB_DATABASE_URL: is not a URL/],
    ['postgres://u:sec/ret@a/db', /is not a URL/],
  ] as const) {
    const [line, ...more] = refusalOf({ CARTBARN_HUB_DATABASE_URL: url })
    assert.match(line ?? '', words, url)
    assert.doesNotMatch(line ?? '', /sec/, 'no password')
    assert.deepEqual(more, [])
  }
  for (const url of ['postgres://u:a,b@h/db', 'postgres://h:5432/db?sslmode=require', 'postgres:///db?host=/run/pg'])
    assert.equal(readHubConfig({ CARTBARN_HUB_DATABASE_URL: url }).databaseUrl, url)
})

test('a weak key is rejected', () => {
  assert.deepEqual(refusalOf({ CARTBARN_HUB_ADMIN_API_KEY: 'a'.repeat(24) }), [
    'CARTBARN_HUB_ADMIN_API_KEY: must have at least 8 different characters',
  ])
})

test('the hub ignores the setting for the key that commands use', () => {
  assert.deepEqual(readHubConfig({ CARTBARN_HUB_API_KEY: KEY }), readHubConfig({}))
  assert.deepEqual(readHubConfig({ CARTBARN_API_KEY: KEY }), readHubConfig({}))
  assert.equal(refusalOf({ CARTBARN_HUB_API_KYE: KEY }).length, 1)
})

test('an invalid setting is reported in our own text, not that of a library', () => {
  for (const { name } of describeHubSettings().filter(({ name }) => !/HOST|DIR|TLS|_FILE/.test(name))) {
    const [line = '', ...others] = refusalOf({ [name]: '-' })
    assert.match(line, new RegExp(`^${name}: must `))
    assert.deepEqual(others, [])
  }
})

test('without a certificate the hub listens on localhost only, unless a host is set', () => {
  const tls = { CARTBARN_HUB_TLS_CERT: 'cert.pem', CARTBARN_HUB_TLS_KEY: 'key.pem' }
  assert.equal(readHubConfig({}).host, '127.0.0.1')
  assert.equal(readHubConfig(tls).host, '::')
  assert.equal(readHubConfig({ CARTBARN_HUB_HOST: '0.0.0.0' }).host, '0.0.0.0')
})

test('settings of a gateway on the same host are ignored, right or wrong', () => {
  const ofGateway = { CARTBARN_DATA_DIR: '/var/lib/cartbarn', CARTBARN_HTTP_PORT: 'none', CARTBARN_HOST: '' }
  assert.deepEqual(readHubConfig(ofGateway), readHubConfig({}))
})
