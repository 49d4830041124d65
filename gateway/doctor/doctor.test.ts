import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { describeSettings, isOpenSetting } from '#gateway/config.ts'
import { createKeyPair, KeyPairFolder } from '#shared/testing/key-pairs.ts'
import { HOUR_MS } from '#shared/time.ts'
import { FakeMachine } from '#testing/fake-machine.ts'
import { ADMIN_KEY, startGateway } from '#testing/start-gateway.ts'
import { packBundle } from './bundle.ts'
import { checkBackups } from './check-backups.ts'
import { checkCertificate } from './check-certificate.ts'
import { checkFolder } from './check-folder.ts'
import { checkClock } from './check-machine.ts'
import { checkPackage } from './check-package.ts'
import { checkPlainDevices } from './check-plain-devices.ts'
import { checkPlainHttp } from './check-plain-http.ts'
import { checkUpstream } from './check-upstream.ts'
import { checkWear } from './check-wear.ts'
import { examine } from './examine.ts'
import { lineOf } from './finding.ts'
import type { Machine } from './machine.ts'
import { findRunning } from './running.ts'
import { readService } from './service.ts'

const NOW_MS = Date.UTC(2026, 10, 23, 12)
const SITE_KEY = `cbs_links_${'Sk4-'.repeat(11).slice(0, 43)}`

let umask: number
// same as the program sets
before(() => {
  umask = process.umask(0o077)
})
after(() => process.umask(umask))

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-doctor-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** Creates a machine whose programs print these answers and whose file system is empty. */
function machineWith(answers: Record<string, string> = {}, more: Partial<Machine> = {}): Machine {
  return {
    root: '/',
    userId: process.getuid?.() ?? 0,
    nowMs: () => NOW_MS,
    ask: async (program) => answers[program] ?? null,
    ...more,
  }
}

const optionsWith = (environment: Record<string, string>, key?: string) => ({
  environment,
  file: undefined,
  key,
  dataDir: undefined,
})

test('a running gateway has no failures and recognises its ports', async (t) => {
  const CARTBARN_DATA_DIR = newFolder(t)
  const g = await startGateway({ CARTBARN_DATA_DIR })
  t.after(() => g.stop())
  const environment = {
    CARTBARN_DATA_DIR,
    CARTBARN_HOST: '127.0.0.1',
    CARTBARN_HTTP_PORT: new URL(g.http).port,
    CARTBARN_MQTT_PORT: new URL(g.mqtt).port,
  }
  const { findings, running } = await examine(machineWith({ timedatectl: 'yes\n' }), optionsWith(environment))
  const lines = findings.map(lineOf)
  assert.ok(running !== undefined)
  assert.deepEqual(
    lines.filter((line) => line.startsWith('wrong') && !/^wrong +disk/.test(line)),
    [],
  )
  for (const pattern of [/HTTP: the gateway listens/, /MQTT: the gateway listens/, /schema \d+, /, /synchronised/])
    assert.ok(
      lines.some((line) => pattern.test(line)),
      `${pattern}: ${lines.join('\n')}`,
    )
})

test('a copied card is a failure with a remedy, and the head office is not contacted', async (t) => {
  const CARTBARN_DATA_DIR = newFolder(t)
  const machine = new FakeMachine(t, { board: '10000000abcdef01' })
  const g = await startGateway({ CARTBARN_DATA_DIR }, { machineRoot: machine.root })
  t.after(() => g.stop())
  await g.restart(() => machine.becomes({ board: '10000000abcdef02' }))
  const environment = {
    CARTBARN_DATA_DIR,
    CARTBARN_HOST: '127.0.0.1',
    CARTBARN_HTTP_PORT: new URL(g.http).port,
    CARTBARN_MQTT_PORT: new URL(g.mqtt).port,
    CARTBARN_UPSTREAM_URL: 'http://127.0.0.1:9',
    CARTBARN_UPSTREAM_KEY: SITE_KEY,
    CARTBARN_SITE_ID: 'links',
  }
  const { findings } = await examine(machineWith(), optionsWith(environment))
  const lines = findings.map(lineOf)
  assert.match(
    lines.find((line) => /^\w+ +machine /.test(line)) ?? '',
    /^wrong .*another machine.*new-site --same-course.*new-site --yes/,
  )
  assert.match(lines.find((line) => /^\w+ +hub /.test(line)) ?? '', /^ok .*not checked/)
})

for (const [shown, pattern] of [
  ['install ok installed 1.0.0', /^ok +package +cartbarn 1\.0\.0 is installed$/],
  ['hold ok installed 1.0.0', /^ok /],
  ['install ok triggers-pending 1.0.0', /^ok /],
  [
    'install ok unpacked 1.1.0',
    /^wrong +package .* 1\.1\.0 is unpacked: .*: sudo dpkg --force-confold --configure -a$/,
  ],
  ['install ok half-configured 1.1.0', /^wrong .* is half-configured: .*--configure -a$/],
  ['install reinstreq half-installed 1.1.0', /^wrong .* only partly installed .*: install its file again: /],
  ['install reinstreq unpacked 1.1.0', /^wrong .* only partly installed /],
  ['deinstall ok config-files 1.0.0', null],
  ['unknown ok not-installed ', null],
  ['', null],
  [null, null],
] as const)
  test(`the dpkg status "${shown}" ${pattern === null ? 'is ignored' : 'is reported'}`, async () => {
    const found = await checkPackage(machineWith(shown === null ? {} : { 'dpkg-query': shown }))
    assert.equal(found.length, pattern === null ? 0 : 1)
    if (pattern !== null) assert.match(found.map(lineOf).join(), pattern)
  })

test('a port used by another program is a failure, with the program and a remedy', async (t) => {
  const other = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  t.after(() => other.close())
  await once(other, 'listening')
  const address = other.address()
  assert.ok(typeof address === 'object' && address !== null)
  const environment = {
    CARTBARN_DATA_DIR: newFolder(t),
    CARTBARN_HOST: '127.0.0.1',
    CARTBARN_HTTP_PORT: String(address.port),
    CARTBARN_MQTT_PORT: '0',
  }
  const { findings, running } = await examine(machineWith(), optionsWith(environment))
  assert.equal(running, undefined)
  const line = findings.map(lineOf).find((one) => one.includes(`port ${address.port}`)) ?? ''
  assert.match(line, new RegExp(`^wrong .*taken by \\S+ \\(process ${process.pid}\\): sudo kill.*CARTBARN_HTTP_PORT`))
})

test('every wrong setting is a finding, and a half-written file is never quoted', async (t) => {
  const file = join(newFolder(t), 'half.json')
  writeFileSync(file, '{"CARTBARN_UPSTREAM_KEY": "flt_planted_in_half a file", "CARTBARN_HOST": ')
  for (const [environment, path] of [
    [{ CARTBARN_HTTP_PROT: '1', CARTBARN_HTTP_PORT: 'flt_planted_as_port' }, undefined],
    [{}, file],
  ] as const) {
    const { findings } = await examine(machineWith(), { ...optionsWith(environment), file: path })
    const lines = findings.filter(({ about }) => about === 'settings').map(lineOf)
    assert.ok(lines.length > 0 && lines.every((line) => line.startsWith('wrong')), lines.join('\n'))
    assert.doesNotMatch(lines.join('\n'), /planted/)
  }
})

test('without settings the settings of the service are checked', async (t) => {
  const folder = newFolder(t)
  const show = [
    'LoadState=loaded',
    'ActiveState=failed',
    'Result=exit-code',
    'NRestarts=3',
    `Environment="CARTBARN_DATA_DIR=${folder}/a b" CARTBARN_MQTT_PORT=off CARTBARN_HTTP_PORT=0`,
    `ExecStart={ path=/usr/lib/cartbarn/cartbarn ; argv[]=/usr/lib/cartbarn/cartbarn run --config /etc/x.json ; }`,
  ].join('\n')
  assert.equal(readService(show)?.configFile, '/etc/x.json')
  assert.equal(readService('LoadState=not-found'), undefined)
  const { findings, settings } = await examine(
    machineWith({ systemctl: show.replace('--config /etc/x.json', '') }),
    optionsWith({ PATH: '/bin' }),
  )
  assert.equal(settings.environment.CARTBARN_DATA_DIR, `${folder}/a b`)
  const lines = findings.map(lineOf)
  assert.ok(
    lines.some((line) => /^wrong +settings .*MQTT_PORT.*cartbarn\.service/.test(line)),
    lines.join('\n'),
  )
  assert.ok(lines.some((line) => /^wrong +service .*failed \(exit-code\): journalctl/.test(line)))
})

test('CARTBARN_CONFIG alone does not override the settings of the service unit', async (t) => {
  const folder = newFolder(t)
  const file = join(folder, 'service.conf')
  writeFileSync(file, `CARTBARN_DATA_DIR=${folder}/service\nCARTBARN_HTTP_PORT=8099\n`)
  const service =
    `LoadState=loaded\nActiveState=active\nEnvironment=CARTBARN_HTTP_PORT=0\nExecStart={ argv[]=cartbarn run ` +
    `--config ${file} ; }`
  const found = async (environment: Record<string, string>, answers: Record<string, string>) => {
    const { settings } = await examine(machineWith(answers), optionsWith(environment))
    return [settings.config?.dataDir, settings.config?.httpPort]
  }
  const named = { CARTBARN_CONFIG: file }
  // settings in the unit itself count too
  assert.deepEqual(await found(named, { systemctl: service }), [`${folder}/service`, 0])
  assert.deepEqual(await found(named, {}), [`${folder}/service`, 8099])
  const own = { ...named, CARTBARN_HTTP_PORT: '8100' }
  assert.deepEqual(await found(own, { systemctl: service }), [`${folder}/service`, 8100])
})

test('an impossible clock is a failure, an unsynchronised one a warning', async (t) => {
  const root = newFolder(t)
  const level = async (nowMs: number, answers: Record<string, string>) =>
    (await checkClock(machineWith(answers, { root, nowMs: () => nowMs }))).level
  assert.equal(await level(0, { timedatectl: 'yes' }), 'wrong')
  assert.equal(await level(Date.UTC(2150, 1), {}), 'wrong')
  assert.equal(await level(NOW_MS, {}), 'mind')
  assert.equal(await level(NOW_MS, { timedatectl: 'yes\n' }), 'ok')
  mkdirSync(join(root, 'sys/class/rtc/rtc0'), { recursive: true })
  writeFileSync(join(root, 'sys/class/rtc/rtc0/since_epoch'), `${NOW_MS / 1000 + 5}\n`)
  assert.equal(await level(NOW_MS, {}), 'ok')
})

test('wear is reported by the disk, or otherwise unknown', async (t) => {
  const [root, dataDir] = [newFolder(t), newFolder(t)]
  const { dev } = await import('node:fs').then(({ statSync }) => statSync(dataDir))
  const card = join(root, 'sys/devices/mmcblk0')
  mkdirSync(join(card, 'mmcblk0p2'), { recursive: true })
  mkdirSync(join(card, 'device'))
  writeFileSync(join(card, 'mmcblk0p2/partition'), '2\n')
  mkdirSync(join(root, 'sys/dev/block'), { recursive: true })
  const machine = machineWith({}, { root, userId: 1000 })
  assert.match(lineOf(await checkWear(machine, dataDir)), /wear +unknown/)
  const number = `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`
  symlinkSync(join(card, 'mmcblk0p2'), join(root, 'sys/dev/block', number))
  assert.match(lineOf(await checkWear(machine, dataDir)), /^ok .*unknown for mmcblk0/)
  for (const [tenths, line] of [
    ['0x01 0x03', /^ok .*mmcblk0 has used 30 %/],
    ['0x09 0x01', /^mind .*90 %.*backup/],
    ['0x0b 0x0b', /^wrong .*110 %/],
    ['0x00 0x00', /wear +unknown/],
  ] as const) {
    writeFileSync(join(card, 'device/life_time'), `${tenths}\n`)
    assert.match(lineOf(await checkWear(machine, dataDir)), line)
  }
  rmSync(join(card, 'device/life_time'))
  const asRoot = { ...machine, userId: 0 }
  const smartctl = (output: string): Machine => ({ ...asRoot, ask: async () => output })
  const used = '{"nvme_smart_health_information_log":{"percentage_used":7},"smart_status":{"passed":true}}'
  assert.match(lineOf(await checkWear(smartctl(used), dataDir)), /^ok .*7 %/)
  assert.match(lineOf(await checkWear(smartctl('{"smart_status":{"passed":false}}'), dataDir)), /^wrong/)
  assert.match(lineOf(await checkWear(smartctl('no JSON'), dataDir)), /wear +unknown/)
})

test('a folder or a file in it that others may read is a failure', (t) => {
  const dataDir = newFolder(t)
  assert.equal(checkFolder(machineWith(), dataDir).level, 'ok')
  writeFileSync(join(dataDir, 'cartbarn.db'), '', { mode: 0o600 })
  assert.equal(checkFolder(machineWith(), dataDir).level, 'ok')
  chmodSync(join(dataDir, 'cartbarn.db'), 0o644)
  assert.match(lineOf(checkFolder(machineWith(), dataDir)), /^wrong .*cartbarn\.db: sudo chmod/)
  assert.match(lineOf(checkFolder(machineWith(), join(dataDir, 'gone'))), /^mind .*is not there yet/)
  assert.match(lineOf(checkFolder(machineWith(), join(dataDir, 'cartbarn.db'))), /^wrong .*is a file/)
  chmodSync(dataDir, 0o755)
  assert.match(lineOf(checkFolder(machineWith(), dataDir)), /^wrong .*others may read/)
})

test('a missing nightly backup is a warning, one older than 36 hours or a missing stick a failure', (t) => {
  const [dataDir, folder] = [newFolder(t), newFolder(t)]
  const target = `${folder}/`
  const lines = (given: string | undefined) => {
    const settings = given === undefined ? undefined : { target: given, mustBeMounted: false }
    return checkBackups(machineWith(), dataDir, settings).map(lineOf)
  }
  const noted = (lastGoodMs: number | null, sinceMs: number, of = target) =>
    writeFileSync(join(dataDir, 'backups.json'), JSON.stringify({ target: of, sinceMs, lastGoodMs }))
  assert.match(lines(undefined).join('\n'), /^mind +backups .*CARTBARN_BACKUP_TO.*cartbarn backup/)
  assert.match(lines(target)[0] ?? '', /^mind .*none yet/)
  const long = NOW_MS - 90 * HOUR_MS
  for (const [lastGoodMs, sinceMs, line] of [
    [NOW_MS - 36 * HOUR_MS + 1, long, /^ok .*2026-11-22T00:00:00\.001Z/],
    [NOW_MS - 36 * HOUR_MS, long, /^wrong .*2026-11-22T00:00:00\.000Z: cartbarn backup/],
    [null, NOW_MS - HOUR_MS, /^mind .*none yet/],
    [null, long, /^wrong .*no good one/],
  ] as const) {
    noted(lastGoodMs, sinceMs)
    assert.match(lines(target)[0] ?? '', line)
  }
  noted(NOW_MS, long, '/another/')
  assert.match(lines(target)[0] ?? '', /^mind .*none yet/)
  writeFileSync(join(dataDir, 'backups.json'), '{"target":')
  assert.match(lines(target)[0] ?? '', /^mind .*none yet/)
  assert.equal(lines('s3://barn/north').length, 1)
  assert.match(lines('/mnt/no-such-stick/cartbarn/')[1] ?? '', /^wrong .*no disk is mounted/)
})

test('a backup on the disk of the data is a warning, also before its folder is created', (t) => {
  const dataDir = newFolder(t)
  const findingsFor = (target: string) =>
    checkBackups(machineWith(), dataDir, { target, mustBeMounted: false })
      .map(lineOf)
      .filter((line) => line.includes('does not survive its loss'))
  assert.match(findingsFor(`${newFolder(t)}/`)[0] ?? '', /^mind .*next to the database.*CARTBARN_BACKUP_TO/)
  assert.equal(findingsFor(join(newFolder(t), 'made by the first one/')).length, 1)
  // a separate file system on every Linux
  assert.deepEqual(findingsFor('/dev/shm/'), [])
})

test('a backup folder that the sandbox of the service does not allow is a failure with a remedy', (t) => {
  const [dataDir, target] = [newFolder(t), newFolder(t)]
  const lines = (paths: string, more = 'ProtectSystem=strict') => {
    const service = readService(`LoadState=loaded\n${more}\nReadWritePaths=${paths}`)
    return checkBackups(machineWith(), dataDir, { target: `${target}/`, mustBeMounted: false }, service?.sandbox)
      .map(lineOf)
      .filter((line) => line.includes('for the service') || line.includes('from the service'))
  }
  assert.match(lines('-/media -/mnt')[0] ?? '', /^wrong .* is read-only for the service: .*ReadWritePaths=-\/tmp/)
  assert.equal(lines(`-/media ${target}x`).length, 1)
  for (const paths of [target, `-${target}`, `+/media -${tmpdir()}`]) assert.deepEqual(lines(paths), [])
  assert.deepEqual(lines('', 'ProtectSystem=full'), [])
  const home = checkBackups(
    machineWith(),
    dataDir,
    { target: '/home/anna/sets/', mustBeMounted: false },
    readService('LoadState=loaded\nProtectSystem=strict\nProtectHome=yes\nReadWritePaths=/home')?.sandbox,
  )
  assert.match(home.map(lineOf).join('\n'), /^wrong .*is hidden from the service/m)
})

test('with a certificate, clients that still use plain MQTT are listed', async (t) => {
  const g = await startGateway({ CARTBARN_DATA_DIR: newFolder(t) })
  t.after(() => g.stop())
  const tls = { certPath: 'cert.pem', keyPath: 'key.pem', isOfOwnAuthority: false }
  const mqttPort = Number(new URL(g.mqtt).port)
  const port = Number(new URL(g.http).port)
  const running = (key?: string) => findRunning({ host: '127.0.0.1', httpPort: port, tls: undefined }, key)
  const lines = async (config: Parameters<typeof checkPlainDevices>[0], key?: string) =>
    (await checkPlainDevices(config, await running(key))).map(lineOf)
  assert.match((await lines({ tls, mqttPort }, ADMIN_KEY))[0] ?? '', /^ok .*no client/)
  const device = await g.device('cart-1')
  t.after(() => device.endAsync(true))
  assert.match((await lines({ tls, mqttPort }, ADMIN_KEY))[0] ?? '', /^mind +MQTT .*1 still use.*: cart-1: /)
  assert.deepEqual(await lines({ tls: undefined, mqttPort }, ADMIN_KEY), [])
  assert.deepEqual(await lines({ tls, mqttPort: undefined }, ADMIN_KEY), [])
  assert.deepEqual(await lines({ tls, mqttPort }), [])
})

test('with a certificate, clients of plain HTTP are listed, and why it is not renewed', async (t) => {
  const folder = new KeyPairFolder(createKeyPair())
  t.after(() => folder.remove())
  const g = await startGateway({ CARTBARN_DATA_DIR: newFolder(t), ...folder.settings })
  t.after(() => g.stop())
  const { tls } = g.config
  const running = (key?: string) => findRunning({ host: '127.0.0.1', httpPort: Number(new URL(g.http).port), tls }, key)
  const lines = async (key?: string) => (await checkPlainHttp(await running(key))).map(lineOf)
  assert.match((await lines(ADMIN_KEY))[0] ?? '', /^ok .*not used/)
  await fetch(`${g.http.replace('https:', 'http:')}/carts`, { headers: { 'x-api-key': ADMIN_KEY } })
  assert.match(
    (await lines(ADMIN_KEY))[0] ?? '',
    /^mind +plain HTTP .*1 used it.*: key of \S.* \(127\.0\.0\.1\): leave/,
  )
  assert.deepEqual(await lines(), [])
  folder.write({ cert: 'no certificate', key: 'no key' })
  await g.reloadCertificate()
  const certificate = (await running(ADMIN_KEY))?.health.certificate
  folder.write(createKeyPair({ expiresAtMs: NOW_MS + 90 * 24 * HOUR_MS }))
  assert.match(
    lineOf(await checkCertificate(machineWith(), tls, certificate)),
    /^wrong +certificate .*cannot be renewed: CARTBARN_TLS/,
  )
})

test('no certificate is a warning, a missing certificate file a failure', async (t) => {
  assert.equal((await checkCertificate(machineWith(), undefined)).level, 'mind')
  const certPath = join(newFolder(t), 'gone.pem')
  const finding = await checkCertificate(machineWith(), { certPath, keyPath: certPath })
  assert.match(lineOf(finding), /^wrong +certificate +CARTBARN_TLS_CERT: cannot be read.*security\.md/)
})

test('an unreachable head office is a failure with an explanation', async () => {
  const upstream = {
    key: SITE_KEY,
    siteId: 'links',
    isInsecureAllowed: false,
    holdMs: 0,
    longestBackoffMs: 0,
  }
  const check = async (url: string) => (await checkUpstream(machineWith(), { ...upstream, url })).map(lineOf).join('\n')
  assert.match(await check('http://127.0.0.1:9'), /^wrong .*127\.0\.0\.1:9 cannot be reached \(.*ECONNREFUSED/)
  assert.match(await check('https://no-such-host.invalid'), /^wrong .*no-such-host\.invalid cannot be resolved/)
})

test('the bundle has what support needs, and none of the planted secrets', async (t) => {
  const CARTBARN_DATA_DIR = newFolder(t)
  const secrets = {
    CARTBARN_ENROLMENT_KEY: 'Planted-enrolment-key-17',
    CARTBARN_SMTP_URL: 'smtps://planted-user:planted-pass@mail.planted.example',
    CARTBARN_SMTP_FROM: 'Planted Sender <sender@planted.example>',
    CARTBARN_UPSTREAM_KEY: SITE_KEY,
    CARTBARN_UPSTREAM_URL: 'http://127.0.0.1:9/planted-path',
    CARTBARN_SITE_ID: 'links',
  }
  const g = await startGateway({ ...secrets, CARTBARN_DATA_DIR })
  t.after(() => g.stop())
  const made = await g.request('POST', '/users', {
    body: { name: 'Planted Person', email: 'person@planted.example', role: 'staff' },
  })
  assert.equal(made.status, 201)
  const password = await g.register('cart-1')
  const webhook = { url: 'http://127.0.0.1:9/planted-hook' }
  assert.equal((await g.request('POST', '/webhooks', { body: webhook })).status, 201)
  const passphrase = 'Planted words of the nights'
  const passphraseFile = join(newFolder(t), 'passphrase')
  writeFileSync(passphraseFile, `${passphrase}\n`, { mode: 0o600 })
  const bucketSecret = 'Planted words of the bucket'
  const bucketFile = join(newFolder(t), 'bucket')
  writeFileSync(bucketFile, bucketSecret, { mode: 0o600 })
  const environment = {
    ...secrets,
    CARTBARN_BACKUP_TO: join(CARTBARN_DATA_DIR, 'nightly'),
    CARTBARN_BACKUP_PASSPHRASE_FILE: passphraseFile,
    CARTBARN_DATA_DIR,
    CARTBARN_HOST: '127.0.0.1',
    CARTBARN_HTTP_PORT: new URL(g.http).port,
    CARTBARN_MQTT_PORT: new URL(g.mqtt).port,
    CARTBARN_ADMIN_API_KEY: ADMIN_KEY,
    CARTBARN_BACKUP_S3_SECRET_FILE: bucketFile,
    CARTBARN_OF_LATER: 'planted-unknown-setting',
  }
  const { CARTBARN_OF_LATER: _later, CARTBARN_BACKUP_S3_SECRET_FILE: _bucket, ...known } = environment
  const planted = [
    ...Object.entries(secrets).flatMap(([name, value]) => (name === 'CARTBARN_SITE_ID' ? [] : [value])),
    'Planted Person',
    'person@planted.example',
    made.body.api_key,
    password,
    ADMIN_KEY,
    passphrase,
    bucketSecret,
    'planted',
    'A1B2-C3D4-E5F6',
    '04A1B2C3D4',
    '51.5007',
  ]
  // a log with the data that must never appear in a bundle
  const journal = [
    JSON.stringify({ level: 'warn', msg: `of ${planted.join(' and ')}`, reason: planted[0], kept: 17 }),
    JSON.stringify({ level: 'info', msg: 'lock', code: '04A1B2C3D4', name: 'Anybody', lat: '51.5007' }),
    `Error: ${planted[1]} at ${made.body.api_key}`,
  ].join('\n')
  const machine = machineWith({ journalctl: journal, timedatectl: 'yes' })
  const examination = await examine(machine, optionsWith(known, ADMIN_KEY))
  examination.settings.environment = environment
  const text = gunzipSync(await packBundle(machine, examination)).toString()
  // measurements and typed texts are excluded because only open fields are shown
  for (const secret of planted)
    if (!['51.5007', '04A1B2C3D4', 'planted'].includes(secret)) assert.ok(!text.includes(secret), secret)
  const document = JSON.parse(text)
  assert.equal(document.settings.CARTBARN_HTTP_PORT, environment.CARTBARN_HTTP_PORT)
  assert.equal(document.settings.CARTBARN_SMTP_URL, '(hidden)')
  assert.equal(document.settings.CARTBARN_OF_LATER, undefined)
  assert.ok(document.rows.user >= 2 && document.rows.device === 1, JSON.stringify(document.rows))
  assert.equal(document.health.status, 'ok')
  assert.ok(document.metrics.some((line: string) => line.startsWith('cartbarn_devices 1')))
  assert.equal(document.log.length, 3)
  assert.match(document.log[0], /"kept":17/)
  assert.doesNotMatch(document.log[1], /Anybody|51\.5007/)
})

test('the value of every free-text setting is hidden, also of a new one', () => {
  const shown = describeSettings()
    .map(({ name }) => name)
    .filter((name) => isOpenSetting(name, 'flt_planted-0123456789_abcdefghi'))
  // these values are paths and hosts without personal data; the secret files behind them are not read
  assert.deepEqual(shown, ['CARTBARN_DATA_DIR', 'CARTBARN_HOST', 'CARTBARN_TLS_CERT', 'CARTBARN_TLS_KEY'])
  assert.ok(isOpenSetting('CARTBARN_HTTP_PORT', '8080') && isOpenSetting('CARTBARN_LOG_LEVEL', 'warn'))
})
