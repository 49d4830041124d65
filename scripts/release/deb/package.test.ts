import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { readConfig } from '#gateway/config.ts'
import { avahiServices } from '#host/avahi.ts'
import { announcedServices } from '#host/mdns-services.ts'
import { settingsTemplate } from './control.ts'
import { buildDeb, type DebOptions } from './package.ts'

const hasDpkg = spawnSync('dpkg-deb', ['--version']).status === 0
const onDebian = { skip: hasDpkg ? false : 'there is no dpkg-deb' }
const folder = mkdtempSync(join(tmpdir(), 'cartbarn-package-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function build(name: string, more: Partial<DebOptions> = {}): string {
  const program = join(folder, 'program')
  writeFileSync(program, 'a program')
  mkdirSync(join(folder, name))
  const about = { version: '1.2.3', architecture: 'arm64' as const, licences: 'MIT', changelog: '# 1.2.3' }
  return buildDeb({ program, ...about, changedAtS: 1_700_000_000, folder: join(folder, name), ...more })
}

test('two builds are the same bytes', onDebian, () => {
  const [first, second] = [build('first'), build('second')]
  assert.match(first, /cartbarn_1\.2\.3_arm64\.deb$/)
  assert.ok(readFileSync(first).equals(readFileSync(second)))
})

test('every file belongs to root, has the time of the commit, and no file is for others to write', onDebian, () => {
  const list = execFileSync('dpkg-deb', ['--contents', build('contents')], {
    encoding: 'utf8',
    env: { ...process.env, TZ: 'UTC' },
  })
  const lines = list.trim().split('\n')
  for (const line of lines) assert.match(line, /^[-d]rw[-x]r-[-x]r-[-x] root\/root +\d+ 2023-11-14 22:13 /)
  const units = readdirSync(import.meta.dirname).filter((name) => /^cartbarn.*\.service$/.test(name))
  const pages = units.flatMap((unit) =>
    [...readFileSync(join(import.meta.dirname, unit), 'utf8').matchAll(/^Documentation=file:\/\/\/(.*)$/gm)].map(
      ([, page = '']) => page,
    ),
  )
  assert.equal(pages.length, units.length)
  for (const path of [
    ...units.map((unit) => `usr/lib/systemd/system/${unit}`),
    ...pages,
    'usr/lib/cartbarn/cartbarn',
    'usr/bin/cartbarn',
    'etc/cartbarn/',
    'usr/lib/cartbarn/cartbarn.conf',
    'usr/lib/cartbarn/swap-back',
  ])
    assert.ok(
      lines.some((line) => line.endsWith(` ./${path}`)),
      path,
    )
})

test('the scripts of the package are ones that sh can read', onDebian, () => {
  const control = join(folder, 'control')
  execFileSync('dpkg-deb', ['--control', build('scripts'), control])
  for (const name of ['preinst', 'postinst', 'prerm', 'postrm'])
    assert.equal(spawnSync('sh', ['-n', join(control, name)]).status, 0, name)
  for (const name of ['swap-back.sh', 'cartbarn.sh'])
    assert.equal(spawnSync('sh', ['-n', join(import.meta.dirname, name)]).status, 0, name)
  assert.match(readFileSync(join(control, 'preinst'), 'utf8'), /"\$2" != "1\.2\.3"/)
  // dpkg asks a question about a conffile that a person has changed
  assert.ok(!readdirSync(control).includes('conffiles'))
})

test('an upgrade keeps the program that has run so far, also after one that was undone', () => {
  const programs = join(folder, 'programs')
  mkdirSync(programs)
  const preinst = readFileSync(join(import.meta.dirname, 'preinst.sh'), 'utf8')
    .replaceAll('/usr/lib/cartbarn', programs)
    .replaceAll('/run/systemd/system', join(programs, 'no-systemd'))
    .replaceAll('@VERSION@', '1.2.3')
  const [program, previous] = [join(programs, 'cartbarn'), join(programs, 'cartbarn.previous')]
  const upgradeFrom = (version: string) =>
    assert.equal(spawnSync('sh', ['-c', preinst, 'preinst', 'upgrade', version]).status, 0)
  writeFileSync(program, 'first')
  upgradeFrom('1.2.2')
  assert.equal(readFileSync(previous, 'utf8'), 'first')
  // as dpkg does it, under a name of its own first
  rmSync(program)
  writeFileSync(program, 'second')
  upgradeFrom('1.2.3')
  assert.equal(readFileSync(previous, 'utf8'), 'first', 'the same version again')
  rmSync(program)
  linkSync(previous, program)
  upgradeFrom('1.2.2')
  assert.deepEqual(readdirSync(programs).sort(), ['cartbarn', 'cartbarn.previous'])
})

test('the settings of the package are those of the program, and change nothing but the folder', () => {
  const path = join(folder, 'cartbarn.conf')
  writeFileSync(path, settingsTemplate())
  assert.deepEqual(readConfig({}, path), readConfig({ CARTBARN_DATA_DIR: '/var/lib/cartbarn' }))
})

test('each line of the settings can be made a setting, and then still changes nothing', () => {
  const path = join(folder, 'all.conf')
  writeFileSync(path, settingsTemplate().replaceAll(/^#(?=CARTBARN_)/gm, ''))
  assert.deepEqual(readConfig({}, path), readConfig({ CARTBARN_DATA_DIR: '/var/lib/cartbarn' }))
})

/** Runs the postinst script of the package, on a machine in this folder. */
function configure(machine: string, previous: string): void {
  const [bin, programs] = [join(machine, 'bin'), join(machine, 'usr/lib/cartbarn')]
  for (const made of [bin, programs, join(machine, 'etc/cartbarn')]) mkdirSync(made, { recursive: true })
  writeFileSync(join(programs, 'cartbarn.conf'), 'CARTBARN_DATA_DIR=/var/lib/cartbarn\n')
  writeFileSync(join(programs, 'avahi.service'), '<txt-record>version=1.2.3</txt-record>')
  // of the system, which a test does not change
  for (const name of ['getent', 'useradd', 'chown', 'deb-systemd-helper', 'deb-systemd-invoke'])
    writeFileSync(join(bin, name), '#!/bin/sh\n', { mode: 0o755 })
  const script = readFileSync(join(import.meta.dirname, 'postinst.sh'), 'utf8')
    .replaceAll(/(?<= |=)\/(?=usr\/lib|etc|run|var)/g, `${machine}/`)
    .replaceAll('install -d -m 0700 -o cartbarn -g cartbarn', 'mkdir -p')
    .replaceAll('@VERSION@', '1.2.3')
  const { status, stderr } = spawnSync('sh', ['-c', script, 'postinst', 'configure', previous], {
    env: { PATH: `${bin}:${process.env.PATH}` },
    encoding: 'utf8',
  })
  assert.deepEqual([status, stderr], [0, ''])
}

test('settings are written once, and never changed by an upgrade', () => {
  const machine = join(folder, 'with-settings')
  const [settings, etc] = [join(machine, 'etc/cartbarn/cartbarn.conf'), join(machine, 'etc/cartbarn')]
  configure(machine, '')
  assert.match(readFileSync(settings, 'utf8'), /^CARTBARN_DATA_DIR=/)
  assert.equal(statSync(settings).mode & 0o777, 0o640)
  for (const content of ['', 'CARTBARN_LOG_LEVEL=debug\n']) {
    writeFileSync(settings, content)
    configure(machine, '1.0.0')
    assert.equal(readFileSync(settings, 'utf8'), content)
  }
  // a link to a disk that is missing
  rmSync(settings)
  symlinkSync('/nowhere/cartbarn.conf', settings)
  configure(machine, '1.0.0')
  assert.equal(readlinkSync(settings), '/nowhere/cartbarn.conf')
  assert.deepEqual(readdirSync(etc), ['cartbarn.conf'])
})

test('avahi gets its file with each installation, whole and for all to read, and keeps what a person did to it', () => {
  const machine = join(folder, 'with-avahi')
  const services = join(machine, 'etc/avahi/services')
  const announced = join(services, 'cartbarn.service')
  const marker = join(machine, 'usr/lib/cartbarn/is-new')
  mkdirSync(services, { recursive: true })
  const install = (previous: string) => {
    mkdirSync(dirname(marker), { recursive: true })
    writeFileSync(marker, '')
    configure(machine, previous)
    assert.ok(!existsSync(marker))
  }
  // the second one after a removal, which dpkg shows the last version of
  for (const previous of ['', '1.2.2']) {
    install(previous)
    assert.equal(statSync(announced).mode & 0o777, 0o644)
    rmSync(announced)
    configure(machine, '1.2.2')
    assert.ok(!existsSync(announced), 'a person has deleted it')
  }
  writeFileSync(announced, '<port>80</port><txt-record>version=1.2.2</txt-record>', { mode: 0o600 })
  configure(machine, '1.2.2')
  assert.equal(readFileSync(announced, 'utf8'), '<port>80</port><txt-record>version=1.2.3</txt-record>')
  assert.equal(statSync(announced).mode & 0o777, 0o644)
  assert.deepEqual(readdirSync(services), ['cartbarn.service'])
})

test('no script of the package writes a file of avahi under the name that avahi reads', () => {
  for (const name of ['preinst', 'postinst'])
    assert.doesNotMatch(
      readFileSync(join(import.meta.dirname, `${name}.sh`), 'utf8'),
      /(install|cp|sed -i).*"\$announced"$/m,
    )
})

test('what avahi announces is what a gateway without settings announces', () => {
  const servicePath = join(import.meta.dirname, 'avahi.service')
  const { httpPort, mqttPort } = readConfig({})
  assert.deepEqual(
    avahiServices({ servicePath, socketPath: folder }),
    announcedServices({ http: `http://127.0.0.1:${httpPort}`, mqtt: `mqtt://127.0.0.1:${mqttPort}` }),
  )
})

test('the units expose the machine little', {
  skip: spawnSync('systemd-analyze', ['--version']).status !== 0 && 'there is no systemd-analyze',
}, () => {
  const exposure = (name: string) => {
    const unit = join(import.meta.dirname, name)
    const output = execFileSync('systemd-analyze', ['security', '--offline=yes', '--threshold=30', unit], {
      encoding: 'utf8',
    })
    return Number(/exposure level for cartbarn[\w-]*\.service: ([\d.]+)/.exec(output)?.[1])
  }
  const [gateway, hub, swapBack] = ['cartbarn.service', 'cartbarn-hub.service', 'cartbarn-swap-back.service'].map(
    exposure,
  )
  assert.ok(gateway !== undefined && gateway <= 1.8, `${gateway}`)
  assert.ok(hub !== undefined && hub <= 1.8, `${hub}`)
  // it acts as root
  assert.ok(swapBack !== undefined && swapBack <= 3, `${swapBack}`)
})

test('the unit lets threads that read give way to others, which its other rules would refuse', () => {
  const unit = readFileSync(join(import.meta.dirname, 'cartbarn.service'), 'utf8')
  const filters = [...unit.matchAll(/^SystemCallFilter=(.*)$/gm)].map(([, filter]) => filter)
  // the last one that names a call decides; setpriority is one of @resources
  assert.deepEqual(filters.slice(-2), ['~@privileged @resources', 'setpriority'])
})
