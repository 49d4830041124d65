import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ConfigError } from '#shared/errors.ts'
import { describeSettings, readConfig } from './config.ts'

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-config-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const STRONG_KEY = 'a-key-of-at-least-24-characters'

function fileOf(content: unknown): string {
  const path = join(folder, 'settings.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

/** Returns the lines of the error. */
function refusalOf(environment: Record<string, string>, file?: unknown): string[] {
  try {
    readConfig(environment, file === undefined ? undefined : fileOf(file))
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.message.split('\n')
  }
  assert.fail('was accepted')
}

test('a gateway on the loopback, or with announcing turned off, is not announced', () => {
  assert.equal(readConfig({ CARTBARN_HOST: '127.0.0.1' }).isAnnounced, false)
  assert.equal(readConfig({ CARTBARN_HOST: '192.168.1.5' }).isAnnounced, true)
  assert.equal(readConfig({ CARTBARN_MDNS: 'off' }).isAnnounced, false)
})

test('without any setting the defaults apply', () => {
  assert.deepEqual(readConfig({}), {
    dataDir: './data',
    host: '::',
    httpPort: 8080,
    mqttPort: 1883,
    mqttsPort: undefined,
    backsUpBeforeUpgrade: true,
    tls: undefined,
    takesPlainHttp: true,
    isAnnounced: true,
    adminApiKey: undefined,
    enrolment: { key: undefined, isAlways: false },
    logLevel: 'info',
    corsOrigins: [],
    requestsPerSecond: 500,
    httpSocketsPerAddress: 500,
    publicUrl: undefined,
    trustedProxies: undefined,
    userRealtimeSockets: 20,
    userDownloads: 4,
    userMqttConnections: 20,
    userMqttSessions: 10,
    userMqttSubscriptions: 200,
    mqttConnections: 10_000,
    mqttConnectionsPerAddress: 2_500,
    mqttFailedLoginsPerSecond: 5,
    mqttMessagesPerSecond: 500,
    mqttPacketBytes: 65_536,
    mqttSlowReaderBytes: 262_144,
    mqttInFlight: 100,
    mqttQueueMessages: 1_000,
    mqttQueueBytes: 1_048_576,
    mqttQueuesMessages: 100_000,
    mqttQueuesBytes: 67_108_864,
    mqttRetainedMessages: 10_000,
    mqttRetainedBytes: 16_777_216,
    mqttSessionDays: 30,
    mqttSubscriptions: 100,
    mqttTopicLevels: 12,
    mqttConnectTimeoutS: 10,
    writeQueueRows: 5_000,
    commitMs: 45,
    sealSamples: 32_768,
    readerThreads: 0,
    retentionDays: 400,
    eventRetentionDays: 400,
    diskBudget: { kind: 'share', percent: 80 },
    backup: undefined,
    backupS3: undefined,
    clockConfirmedBy: ['system', 'hardware', 'devices', 'admin'],
    mail: undefined,
    telegramUrl: 'https://api.telegram.org',
    upstreamIntents: 'config',
    upstream: undefined,
  })
})

test('unset variables and those of other programs are ignored', () => {
  assert.deepEqual(readConfig({ PATH: '/bin', HTTP_PORT: 'x', CARTBARN_HTTP_PORT: undefined }), readConfig({}))
})

test('an unknown CARTBARN_ variable is rejected by name', () => {
  const [line, ...others] = refusalOf({ CARTBARN_HTTP_PROT: '80' })
  assert.match(line ?? '', /CARTBARN_HTTP_PROT/)
  assert.deepEqual(others, [])
})

test('all errors are listed together', () => {
  const lines = refusalOf({
    CARTBARN_HTTP_PORT: 'eighty',
    CARTBARN_MQTT_PORT: '70000',
    CARTBARN_ADMIN_API_KEY: 'short',
    CARTBARN_LOG_LEVEL: 'loud',
    CARTBARN_NO_SUCH: '1',
    CARTBARN_NOR_THIS: '1',
  })
  const names = lines.map((line) => line.match(/^CARTBARN_[A-Z_]+/)?.[0]).sort()
  assert.deepEqual(names, [
    'CARTBARN_ADMIN_API_KEY',
    'CARTBARN_HTTP_PORT',
    'CARTBARN_LOG_LEVEL',
    'CARTBARN_MQTT_PORT',
    'CARTBARN_NOR_THIS',
    'CARTBARN_NO_SUCH',
  ])
})

test('an error never repeats a key', () => {
  const lines = refusalOf({ CARTBARN_ADMIN_API_KEY: 'my-secret', CARTBARN_ENROLMENT_KEY: 'other-secret' })
  assert.equal(lines.length, 2)
  assert.doesNotMatch(lines.join(), /secret/)
})

for (const [name, value] of [
  ['HTTP_PORT', ' '],
  ['HTTP_PORT', '-1'],
  ['HTTP_PORT', '65536'],
  ['HTTP_PORT', '80.5'],
  ['HTTP_PORT', '0x50'],
  ['HTTP_PORT', '1e3'],
  ['HTTP_PORT', 'NaN'],
  ['MQTT_PORT', 'OFF'],
  ['MQTT_PORT', '65536'],
  ['MQTTS_PORT', 'off'],
  ['REQUESTS_PER_SECOND', '-1'],
  ['REQUESTS_PER_SECOND', 'Infinity'],
  ['MQTT_CONNECTIONS', '0'],
  ['MQTT_PACKET_BYTES', '1023'],
  ['MQTT_PACKET_BYTES', '1048577'],
  ['MQTT_SLOW_READER_BYTES', '1'],
  ['WRITE_QUEUE_ROWS', '999'],
  ['COMMIT_MS', '1001'],
  ['SEAL_SAMPLES', '255'],
  ['READER_THREADS', '65'],
  ['RETENTION_DAYS', '-1'],
  ['EVENT_RETENTION_DAYS', '3651'],
  ['RETENTION_DAYS', '0.5'],
  ['RETENTION_DAYS', '3651'],
  ['RETENTION_DAYS', 'never'],
  ['CLOCK_CONFIRMED_BY', 'system,nobody'],
  ['CLOCK_CONFIRMED_BY', ','],
  ['DISK_BUDGET', '0'],
  ['DISK_BUDGET', '99999999'],
  ['DISK_BUDGET', '0%'],
  ['DISK_BUDGET', '101%'],
  ['DISK_BUDGET', '80 %'],
  ['DISK_BUDGET', '20GB'],
  ['LOG_LEVEL', 'INFO'],
  ['ADMIN_API_KEY', STRONG_KEY.slice(0, 23)],
  ['ADMIN_API_KEY', 'a'.repeat(24)],
  ['ADMIN_API_KEY', 'golf-course-'.repeat(2)],
  ['ENROLMENT_KEY', 'x'.repeat(15)],
] as const) {
  test(`CARTBARN_${name}="${value}" is rejected`, () => {
    const lines = refusalOf({ [`CARTBARN_${name}`]: value })
    assert.equal(lines.length, 1)
    assert.ok(lines[0]?.startsWith(`CARTBARN_${name}: `))
  })
}

test('an enrolment key of few different characters is rejected with an explanation', () => {
  assert.deepEqual(refusalOf({ CARTBARN_ENROLMENT_KEY: '1'.repeat(16) }), [
    'CARTBARN_ENROLMENT_KEY: must have at least 8 different characters',
  ])
})

test('a disk budget is bytes or a share', () => {
  const budgetOf = (value: string) => readConfig({ CARTBARN_DISK_BUDGET: value }).diskBudget
  assert.deepEqual(budgetOf('20000000000'), { kind: 'bytes', bytes: 20_000_000_000 })
  assert.deepEqual(budgetOf('5%'), { kind: 'share', percent: 5 })
  assert.deepEqual(budgetOf('100%'), { kind: 'share', percent: 100 })
})

const TLS = { CARTBARN_TLS_CERT: '/etc/cert.pem', CARTBARN_TLS_KEY: '/etc/key.pem' }

test('with a certificate MQTT over TLS may be on and plain MQTT off', () => {
  const { mqttPort, mqttsPort, tls } = readConfig({ ...TLS, CARTBARN_MQTT_PORT: 'off', CARTBARN_MQTTS_PORT: '8883' })
  assert.deepEqual([mqttPort, mqttsPort], [undefined, 8883])
  assert.deepEqual(tls, { certPath: '/etc/cert.pem', keyPath: '/etc/key.pem', isOfOwnAuthority: false })
  assert.equal(readConfig(TLS).mqttsPort, undefined)
})

for (const [what, settings, name] of [
  ['a certificate without its key', { CARTBARN_TLS_CERT: 'c.pem' }, 'TLS_KEY'],
  ['a key without its certificate', { CARTBARN_TLS_KEY: 'k.pem' }, 'TLS_CERT'],
  ['MQTT over TLS without a certificate', { CARTBARN_MQTTS_PORT: '0' }, 'MQTTS_PORT'],
  ['no port for MQTT at all', { CARTBARN_MQTT_PORT: 'off' }, 'MQTT_PORT'],
  ['no port for MQTT but a certificate', { ...TLS, CARTBARN_MQTT_PORT: 'off' }, 'MQTT_PORT'],
] as const) {
  test(`${what} is rejected`, () => {
    const lines = refusalOf(settings)
    assert.equal(lines.length, 1)
    assert.ok(lines[0]?.startsWith(`CARTBARN_${name}: `), lines[0])
  })
}

test('numbers and origins are read from text', () => {
  const config = readConfig({
    CARTBARN_HTTP_PORT: '0',
    CARTBARN_REQUESTS_PER_SECOND: '0',
    CARTBARN_RETENTION_DAYS: '0',
    CARTBARN_CORS_ORIGINS: ' https://a.example , https://b.example,,',
    CARTBARN_ADMIN_API_KEY: STRONG_KEY,
  })
  assert.equal(config.httpPort, 0)
  assert.equal(config.requestsPerSecond, 0)
  assert.equal(config.retentionDays, 0)
  assert.deepEqual(config.corsOrigins, ['https://a.example', 'https://b.example'])
  assert.equal(config.adminApiKey, STRONG_KEY)
})

test('an error of any setting is described in the terms of the documentation', () => {
  const anyText = /_DIR|HOST|TLS_|_FILE|CORS_ORIGINS|BACKUP_TO/
  for (const { name } of describeSettings().filter(({ name }) => !anyText.test(name))) {
    const fault = refusalOf({ [name]: '~' }).find((line) => line.startsWith(`${name}: must `))
    assert.doesNotMatch(fault ?? assert.fail(name), /invalid|expected|received|too (?:small|big)/i)
  }
  for (const { name } of describeSettings()) {
    const lines = refusalOf({}, { [name]: 0.5 })
    assert.doesNotMatch(lines.join('\n'), /invalid|expected|received|too (?:small|big)/i, name)
  }
})

test('the key that commands use is not a setting of the gateway', () => {
  assert.deepEqual(readConfig({ CARTBARN_API_KEY: STRONG_KEY }), readConfig({}))
  assert.equal(refusalOf({}, { API_KEY: STRONG_KEY }).length, 1)
})

const SITE_KEY = `cbs_links_${'k'.repeat(43)}`
for (const [name, secret, more] of [
  ['ADMIN_API_KEY', STRONG_KEY, {}],
  ['ENROLMENT_KEY', STRONG_KEY, {}],
  ['UPSTREAM_KEY', SITE_KEY, { CARTBARN_UPSTREAM_URL: 'https://hub', CARTBARN_SITE_ID: 'links' }],
] as const) {
  test(`CARTBARN_${name} may be in a file, but not in both places`, () => {
    const path = join(folder, 'secret')
    const inFile = { ...more, [`CARTBARN_${name}_FILE`]: path }
    const faultsOf = (settings: Record<string, string>) =>
      refusalOf(settings).filter((line) => line.startsWith(`CARTBARN_${name}_FILE: `))
    for (const end of ['', '\n', '\r\n', '\n\n']) {
      writeFileSync(path, secret + end)
      assert.deepEqual(readConfig(inFile), readConfig({ ...more, [`CARTBARN_${name}`]: secret }))
    }
    assert.match(faultsOf({ ...inFile, [`CARTBARN_${name}`]: secret }).join(), /must not be given together/)
    writeFileSync(path, '\n')
    assert.match(faultsOf(inFile).join(), /is empty$/)
    assert.match(faultsOf({ ...inFile, [`CARTBARN_${name}_FILE`]: folder }).join(), /cannot be read: EISDIR/)
    assert.match(faultsOf({ ...inFile, [`CARTBARN_${name}_FILE`]: `${path}.no` }).join(), /cannot be read: ENOENT/)
  })
}

test('a secret from a file follows the same rules and is not repeated in errors', () => {
  const path = join(folder, 'weak')
  writeFileSync(path, 'weak-secret\n')
  const [line, ...others] = refusalOf({ CARTBARN_ADMIN_API_KEY_FILE: path })
  assert.equal(line, 'CARTBARN_ADMIN_API_KEY: must have at least 24 characters')
  assert.deepEqual(others, [])
})

test('the file overrides the defaults, and the environment overrides the file', () => {
  const file = fileOf({ HTTP_PORT: 8081, CARTBARN_MQTT_PORT: '1884', HOST: '127.0.0.1' })
  const config = readConfig({ CARTBARN_HTTP_PORT: '9090' }, file)
  assert.deepEqual([config.httpPort, config.mqttPort, config.host, config.logLevel], [9090, 1884, '127.0.0.1', 'info'])
})

test('the file follows the same rules as the environment', () => {
  const lines = refusalOf({}, { HTTP_PORT: -1, COLOUR: 'red' })
  assert.equal(lines.length, 2)
  assert.match(lines.join('\n'), /CARTBARN_COLOUR/)
})

for (const [what, content] of [
  ['no JSON', '{"HTTP_PORT": 80'],
  ['an array', [1]],
  ['null', 'null'],
  ['nested', { HTTP: { PORT: 80 } }],
] as const) {
  test(`a file that is ${what} is rejected with its name`, () => {
    assert.match(refusalOf({}, content).join(' '), /settings\.json/)
  })
}

test('a missing file is rejected with its name', () => {
  assert.throws(() => readConfig({}, join(folder, 'nowhere.json')), /nowhere\.json/)
})

test('every setting is described once, with its default', () => {
  const settings = describeSettings()
  assert.equal(new Set(settings.map(({ name }) => name)).size, settings.length)
  for (const { name, help } of settings) assert.ok(name.startsWith('CARTBARN_') && help.length > 10, name)
  const port = settings.find(({ name }) => name === 'CARTBARN_HTTP_PORT')
  assert.equal(port?.defaultValue, '8080')
  assert.equal(settings.find(({ name }) => name === 'CARTBARN_ADMIN_API_KEY')?.defaultValue, 'none')
})

test('an empty variable counts as unset', () => {
  const empty = Object.fromEntries(
    ['HTTP_PORT', 'REQUESTS_PER_SECOND', 'DATA_DIR', 'HOST', 'ADMIN_API_KEY', 'ENROLMENT_KEY'].map((name) => [
      `CARTBARN_${name}`,
      '',
    ]),
  )
  assert.deepEqual(readConfig(empty), readConfig({}))
})

test('docs/settings.md lists every setting with its default', () => {
  const page = readFileSync(new URL('../docs/settings.md', import.meta.url), 'utf8')
  const rows = describeSettings().map(({ name, defaultValue, help }) => {
    return `| ${name} | ${defaultValue === 'none' ? '' : `\`${defaultValue}\``} | ${help} |`
  })
  assert.ok(page.includes(rows.join('\n')), `the table should be:\n${rows.join('\n')}`)
})

const HEAD_OFFICE = {
  CARTBARN_UPSTREAM_URL: 'https://hub.example.com',
  CARTBARN_UPSTREAM_KEY: `cbs_links_${'k'.repeat(43)}`,
  CARTBARN_SITE_ID: 'links',
}

test('a head office takes an address, a key and a site', () => {
  const { upstream } = readConfig(HEAD_OFFICE)
  assert.deepEqual(upstream, {
    url: HEAD_OFFICE.CARTBARN_UPSTREAM_URL,
    key: HEAD_OFFICE.CARTBARN_UPSTREAM_KEY,
    siteId: 'links',
    isInsecureAllowed: false,
    holdMs: 6_500,
    longestBackoffMs: 300_000,
  })
})

for (const name of Object.keys(HEAD_OFFICE)) {
  test(`${name} is required when the others are set, and is rejected alone`, () => {
    assert.match(refusalOf({ ...HEAD_OFFICE, [name]: '' }).join(), new RegExp(`^${name}: is needed with`))
    const alone = Object.entries(HEAD_OFFICE).filter(([other]) => other === name)
    assert.equal(refusalOf(Object.fromEntries(alone)).length, 2)
  })
}

for (const [what, settings, line] of [
  ['another site than its key', { CARTBARN_SITE_ID: 'palms' }, /SITE_ID: is not the site/],
  ['a site that cannot be one', { CARTBARN_SITE_ID: 'The Links' }, /SITE_ID: must be/],
  ['an invalid key', { CARTBARN_UPSTREAM_KEY: 'flt_secret' }, /UPSTREAM_KEY: must be a site key/],
  ['a plain address', { CARTBARN_UPSTREAM_URL: 'http://hub.example.com' }, /UPSTREAM_URL: must be https/],
  ['no address', { CARTBARN_UPSTREAM_URL: 'hub' }, /UPSTREAM_URL: must be an https/],
  ['a doubtful yes', { CARTBARN_UPSTREAM_INSECURE: 'yes' }, /UPSTREAM_INSECURE/],
] as const) {
  test(`a head office with ${what} is rejected`, () => {
    const lines = refusalOf({ ...HEAD_OFFICE, ...settings }).join('\n')
    assert.match(lines, line)
    assert.doesNotMatch(lines, /secret|kkk/)
  })
}

test('a plain address is accepted if that is allowed, and for this host', () => {
  const CARTBARN_UPSTREAM_URL = 'http://hub.example.com'
  assert.ok(readConfig({ ...HEAD_OFFICE, CARTBARN_UPSTREAM_URL, CARTBARN_UPSTREAM_INSECURE: 'true' }).upstream)
  assert.ok(readConfig({ ...HEAD_OFFICE, CARTBARN_UPSTREAM_URL: 'http://127.0.0.1:8090' }).upstream)
  assert.match(refusalOf({ CARTBARN_UPSTREAM_INSECURE: 'true' }).join(), /has no effect without/)
})

test('settings of a head office on the same host are ignored by the gateway', () => {
  const environment = { CARTBARN_HUB_PORT: '8090', CARTBARN_HUB_DATABASE_URL: 'postgres://localhost/hub' }
  assert.deepEqual(readConfig(environment), readConfig({}))
  assert.deepEqual(refusalOf({}, { HUB_PORT: 8090 }).length, 1)
})

test('a file may have lines as NAME=value, with comments, quotes and empty values', () => {
  const file = fileOf(`# ports
CARTBARN_HTTP_PORT=9000
  MQTT_PORT = 1884\r
CARTBARN_HOST="127.0.0.1"
CARTBARN_SMTP_FROM='Golf # carts <carts@club.example>'
CARTBARN_SMTP_URL=smtps://mail.example/?a=b
CARTBARN_PUBLIC_URL=
#CARTBARN_COLOUR=red
`)
  const { httpPort, mqttPort, host, mail, publicUrl } = readConfig({}, file)
  assert.deepEqual([httpPort, mqttPort, host, publicUrl], [9000, 1884, '127.0.0.1', undefined])
  assert.deepEqual(mail, { url: 'smtps://mail.example/?a=b', from: 'Golf # carts <carts@club.example>' })
})

for (const [what, text, refusal] of [
  ['half a line', 'CARTBARN_HTTP_PORT=1\nCARTB', /^line 2 of .* must be NAME=value/],
  ['a name twice', 'CARTBARN_HOST=::\n\nCARTBARN_HOST=::1', /^line 3 of .* gives CARTBARN_HOST again/],
  ['a shell', 'export CARTBARN_HOST=::', /^line 1 of /],
] as const) {
  test(`a file of lines with ${what} is rejected`, () => {
    assert.match(refusalOf({}, text)[0] ?? '', refusal)
  })
}

test('backups to a bucket need their store and its key, and neither has a meaning alone', () => {
  const secret = join(folder, 's3-secret')
  writeFileSync(secret, 'secret/of+a/test\n')
  const store = {
    CARTBARN_BACKUP_S3_ENDPOINT: 'https://s3.example.com',
    CARTBARN_BACKUP_S3_KEY_ID: 'AKIDOFATEST',
    CARTBARN_BACKUP_S3_SECRET_FILE: secret,
  }
  const nightly = { CARTBARN_BACKUP_TO: 's3://barn/north', CARTBARN_BACKUP_PASSPHRASE: 'nineteenth' }
  const { backup, backupS3 } = readConfig({ ...store, ...nightly })
  const s3 = {
    endpoint: 'https://s3.example.com',
    region: 'us-east-1',
    keyId: 'AKIDOFATEST',
    secret: 'secret/of+a/test',
  }
  assert.deepEqual([backup?.target, backup?.s3, backupS3], ['s3://barn/north', s3, s3])
  assert.equal(readConfig(store).backup, undefined)
  assert.equal(refusalOf(nightly).length, 3)
  assert.match(refusalOf({ CARTBARN_BACKUP_S3_KEY_ID: 'A' }).join('\n'), /S3_ENDPOINT: is needed with/)
  for (const target of ['s3://', 's3://b', 's3://barn//x', 's3://barn/../x', 's3://barn/a b'])
    assert.match(
      refusalOf({ ...store, ...nightly, CARTBARN_BACKUP_TO: target }).join('\n'),
      /must be s3:\/\/BUCKET/,
      target,
    )
  assert.match(
    refusalOf({ ...store, CARTBARN_BACKUP_S3_ENDPOINT: 'https://u:p@s3.example' }).join('\n'),
    /CARTBARN_BACKUP_S3_ENDPOINT: must be a plain address/,
  )
})
