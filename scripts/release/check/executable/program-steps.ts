import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from '#shared/testing/eventually.ts'
import { databasePath } from '#store/db/files.ts'
import { migrate } from '#store/migrate.ts'
import { openForSetup } from '#store/writer/open.ts'
import { flipPageBits } from '#testing/damage/flip-bit.ts'
import { fillSchema, RECORDS, ROWS } from '#testing/rows-of-schema.ts'
import { ADMIN_KEY } from '#testing/start-gateway.ts'
import type { Machine } from '../machine.ts'

const START_MS = 60_000
const CARTBARN = '/opt/cartbarn/cartbarn'
const DATA = '/srv/cartbarn'
/** Schemas of old databases: the first, the last with tables that a program seals, and one with people and a site. */
const OLD_SCHEMAS = [1, 6, 17]
/** Program that acts as another host in the network of the gateway. */
export const NEIGHBOUR = fileURLToPath(new URL('./neighbour.ts', import.meta.url))
const LAN_ADDRESS = '10.77.0.1'
const HUB_KEY = 'hub-admin-key-of-the-check-0123456789'
/** Page in use in any of our databases: the second one is the pointer map, this is the root of the first table. */
const USED_PAGE = 3
/** Pages of the program that the executable contains as files. */
const PAGES = ['/app/', '/docs', '/help/']
const TRACK = 'time,lat,long,speed\n2026-05-01T08:00:00Z,28.41,-81.58,5\n2026-05-01T08:00:05Z,28.4101,-81.58,6\n'

/** Requirement that the program of a release must meet on a bare machine. */
export type ProgramStep = (machine: Machine) => Promise<void> | void

/** Starts a command of the program in the background, as a service with a name. */
function start(machine: Machine, unit: string, command: string, env: Record<string, string>): void {
  const settings = Object.entries(env).map(([name, value]) => `--setenv=${name}=${value}`)
  machine.must(
    `mkdir -p /srv; systemctl reset-failed ${unit} 2> /dev/null; systemd-run --quiet --unit=${unit} ` +
      `--working-directory=/srv ${settings.join(' ')} ${CARTBARN} ${command}`,
  )
}

async function startGateway(machine: Machine, data = DATA, settings: Record<string, string> = {}): Promise<void> {
  start(machine, 'gateway', 'run', { CARTBARN_DATA_DIR: data, ...settings })
  await serves(machine)
}

/** Copies the database of a gateway with an older schema, with rows in all tables, into a folder of the machine. */
function putOldDatabase(machine: Machine, folder: string, schema: number): void {
  const target = join(machine.root, folder)
  mkdirSync(target, { recursive: true, mode: 0o700 })
  const connection = openForSetup(databasePath(target))
  migrate(connection, schema)
  fillSchema(connection)
  connection.close()
}

async function serves(machine: Machine): Promise<void> {
  await eventually(() => machine.get('/health').startsWith('HTTP/1.1 200'), 'a gateway that serves', START_MS)
}

/** Ordered: each step continues from the state that those before it left. */
export const PROGRAM_STEPS: Record<string, ProgramStep> = {
  'the machine has neither Node nor a network': (machine) => {
    assert.notEqual(machine.run('command -v node').code, 0)
    assert.equal(machine.must('ls /sys/class/net'), 'lo')
  },
  'every command explains itself': (machine) => {
    const help = machine.must(`${CARTBARN} --help`)
    const [, commands = ''] = help.split('\nCommands:\n')
    const names = [...commands.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name = '']) => name)
    assert.ok(names.length >= 18, `only ${names.length} commands`)
    const asked = names.filter((name) => name !== 'version' && name !== 'help')
    for (const name of asked)
      assert.match(machine.must(`${CARTBARN} ${name} --help`), new RegExp(`^Usage: cartbarn ${name}\\b`))
    assert.match(machine.must(`${CARTBARN} version`), /^(cartbarn )?\d+\.\d+\.\d+$/)
    assert.notEqual(machine.run(`${CARTBARN} no-such-command`).code, 0)
  },
  'run: serves the app, the documents and the help': async (machine) => {
    await startGateway(machine)
    machine.must(`head -1 ${DATA}/admin-key.txt > /root/key`)
    for (const path of PAGES) {
      const page = machine.get(path)
      assert.match(page, /^HTTP\/1\.1 200[\s\S]*<html/i, path)
    }
  },
  'devices add, simulate, import, export': (machine) => {
    machine.must('printf "hardware_id,device_type\\nbare-1,cartcaddie\\n" > devices.csv')
    machine.must(`${CARTBARN} devices add --key-file key --yes devices.csv; test -s new-devices.csv`)
    const drive = machine.run(`timeout --signal=INT 20 ${CARTBARN} simulate --key-file key --carts 2 --set-up`)
    assert.match(drive.out, /./)
    machine.must(`printf '${TRACK.replaceAll('\n', '\\n')}' > track.csv`)
    machine.must(`${CARTBARN} import --key-file key --device bare-1 track.csv`)
    machine.must(`${CARTBARN} export --key-file key --device bare-1 --out back.csv`)
    assert.match(machine.must('cat back.csv'), /28\.4101/)
  },
  'backup: a file and a folder, by the thread in the executable, while it runs': (machine) => {
    machine.must(`${CARTBARN} backup --data ${DATA} --quiet one.backup; test -s one.backup`)
    machine.must(`mkdir many; for i in 1 2; do ${CARTBARN} backup --data ${DATA} --quiet many; done`)
  },
  'doctor looks at it and packs a bundle': (machine) => {
    const { code, out } = machine.run(`${CARTBARN} doctor --data ${DATA} --bundle bundle.json.gz`)
    assert.ok(code === 0 || code === 1, out)
    assert.match(machine.must('gzip -dc bundle.json.gz'), /^\{/)
  },
  'tls: an authority, and its state': (machine) => {
    const env = `CARTBARN_DATA_DIR=${DATA}`
    machine.must(`${env} ${CARTBARN} tls init`)
    assert.match(machine.must(`${env} ${CARTBARN} tls status`), /\d{4}/)
  },
  'a tablet is paired, and what a device reports over MQTT is stored': (machine) => {
    const key = machine.must('cat key')
    assert.deepEqual(JSON.parse(machine.runOutside(NEIGHBOUR, 'pairing', key)), [201, 200])
    const [fix, ...others] = JSON.parse(machine.runOutside(NEIGHBOUR, 'message', key))
    assert.deepEqual([fix.lat, fix.long, others.length], [28.41, -81.58, 0])
  },
  'hub: serves, takes a site, and its data by sync-export and sync-import': async (machine) => {
    const env = { CARTBARN_HUB_DATA_DIR: '/srv/hub', CARTBARN_HUB_ADMIN_API_KEY: HUB_KEY }
    start(machine, 'hub', 'hub', env)
    const isServing = () => machine.get('/health', 8090).startsWith('HTTP/1.1 200')
    await eventually(isServing, 'a hub that serves', START_MS)
    const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    const added = machine.must(`env ${settings.join(' ')} ${CARTBARN} hub site add Links`)
    const [siteKey = ''] = /cbs_links_[\w-]{43}/.exec(added) ?? []
    machine.must('systemctl stop gateway')
    // no hub responds, as at a site without a network
    const upstream = { CARTBARN_UPSTREAM_URL: 'http://127.0.0.1:1', CARTBARN_UPSTREAM_KEY: siteKey }
    await startGateway(machine, DATA, { ...upstream, CARTBARN_SITE_ID: 'links' })
    const written = () => machine.run(`${CARTBARN} sync-export --key-file key --out links.sync.gz`)
    await eventually(() => written().code === 0, 'a sync file', START_MS)
    const imported = machine.must(`CARTBARN_API_KEY=${HUB_KEY} ${CARTBARN} sync-import links.sync.gz`)
    const [, rows = '0'] = /^([\d,]+) rows in \d+ new parts/m.exec(imported) ?? []
    assert.ok(Number(rows.replace(',', '')) > 3, imported)
    machine.must(`${CARTBARN} sync-export --key-file key --receipt links.sync.gz.receipt.json`)
    machine.must('systemctl stop hub')
  },
  'killed it starts again with what it had': async (machine) => {
    machine.must('systemctl kill --signal=KILL gateway; while systemctl is-active -q gateway; do sleep 0.1; done')
    await startGateway(machine)
    // the authority of the previous step exists now
    assert.match(machine.get('/trust'), /^HTTP\/1\.1 (200|30\d)/)
    machine.must(`${CARTBARN} export --key-file key --device bare-1 --out again.csv; cmp back.csv again.csv`)
    machine.must('systemctl stop gateway')
  },
  'repair: a wrong bit is found by the checksums of pages, and put right': async (machine) => {
    flipPageBits(join(machine.root, databasePath(DATA)), USED_PAGE, 12_345)
    const repaired = machine.must(`${CARTBARN} repair --data ${DATA} --yes`)
    assert.match(repaired, new RegExp(`one bit was wrong; .*: ${USED_PAGE}$`, 'm'))
    assert.match(repaired, /^All of the \d+ rows of \d+ tables could be read\.$/m)
    assert.match(repaired, /^It is in its place now\./m)
    await startGateway(machine)
    machine.must(`${CARTBARN} export --key-file key --device bare-1 --out repaired.csv; cmp back.csv repaired.csv`)
    machine.must('systemctl stop gateway')
  },
  'databases of old schemas are upgraded, with all that was in them': async (machine) => {
    for (const schema of OLD_SCHEMAS) {
      const folder = `/srv/schema-${schema}`
      putOldDatabase(machine, folder, schema)
      await startGateway(machine, folder, { CARTBARN_RETENTION_DAYS: '0' })
      const histories = JSON.parse(machine.runOutside(NEIGHBOUR, 'history', ADMIN_KEY))
      assert.deepEqual(histories, Array(ROWS).fill(RECORDS), `schema ${schema}`)
      machine.must('systemctl stop gateway')
    }
  },
  'mDNS: others on its network find it': async (machine) => {
    machine.connect(LAN_ADDRESS)
    await startGateway(machine)
    const found = JSON.parse(machine.runOutside(NEIGHBOUR, 'mdns', LAN_ADDRESS))
    assert.match(found.name, /^cartbarn on /)
    assert.equal(found.port, 8080)
    machine.must('systemctl stop gateway')
  },
  'restore, admin-key and new-site, with the gateway stopped': async (machine) => {
    machine.must(`${CARTBARN} restore --data /srv/other one.backup`)
    machine.must(`${CARTBARN} restore --data /srv/third many`)
    machine.must(`CARTBARN_DATA_DIR=/srv/other ${CARTBARN} admin-key`)
    await startGateway(machine, '/srv/other')
    machine.must('systemctl stop gateway')
    machine.must(`${CARTBARN} new-site --data /srv/third --yes`)
    await startGateway(machine, '/srv/third')
    machine.must('systemctl stop gateway')
  },
  'demo: starts, and starts again after it was killed': async (machine) => {
    // a failed step may have left it running, and it would respond in place of the demo
    machine.run('systemctl stop gateway')
    for (const signal of ['KILL', 'TERM']) {
      start(machine, 'demo', 'demo', {})
      await serves(machine)
      machine.run(`systemctl kill --signal=${signal} demo; while systemctl is-active -q demo; do sleep 0.1; done`)
    }
  },
  'upgrade: a file that is not of a release is refused in words': (machine) => {
    machine.must('echo nothing > cartbarn_9.0.0_amd64.deb')
    const { code, out } = machine.run(`${CARTBARN} upgrade cartbarn_9.0.0_amd64.deb`)
    assert.notEqual(code, 0)
    assert.match(out, /^upgrade: nothing was changed: /)
  },
}
