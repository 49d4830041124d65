// npm run check:release -- PACKAGE [HERE:THERE…]: installs a package on clean machines with Debian 12 and 13, word for
// word as in README.md, and tests the failures that a service must survive. Needs root, mmdebstrap and systemd-nspawn.
// Folders HERE are mounted at THERE. Then tests the archive of dist/release, the executable for arm64 in qemu, if a
// second build has the same bytes, and containers, with buildah and crun. Last, bare clones on older versions of Node.
// `npm run check:release -- program`, `-- rebuild`, `-- containers` and `-- clone` run only these tests.
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from '#shared/testing/eventually.ts'
import { checkClone } from './check-clone.ts'
import { checkRebuild } from './check-rebuild.ts'
import { checkContainers } from './containers/check-containers.ts'
import { checkProgram } from './executable/check-program.ts'
import { NEIGHBOUR } from './executable/program-steps.ts'
import { bareDebian, Machine } from './machine.ts'
import { runSteps } from './run-steps.ts'
import { healthOf, hubServesAgain, servesAgain, state, swapBackLog } from './service.ts'
import { swapBackSteps } from './swap-back-steps.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const CACHE = join(ROOT, 'node_modules/.cache/cartbarn-machines')
const RELEASE = join(ROOT, 'dist/release')
/** Arguments in place of a package that select a single test. */
const ALONE = ['program', 'rebuild', 'containers', 'clone']
const SUITES = ['bookworm', 'trixie']
const INSTALL_S = 60
const CONF = '/etc/cartbarn/cartbarn.conf'
/** Files next to the package of a release, but not next to one made by `npm run build:deb`. */
const SUMS = ['SHA256SUMS', 'SHA256SUMS.sig']
const SIGNED = 'upgrade installs a package that was signed, and no altered one'
const LAST = 'after remove and purge the data remains, and the output names its folder'

/** Returns the installation commands of README.md, in order. */
function installLines(): string[] {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
  const [, section = ''] = /^## Install\n([\s\S]*?)^## /m.exec(readme) ?? []
  return [...section.matchAll(/^```bash\n([\s\S]*?)^```$/gm)].map(([, lines = '']) => lines)
}

/** Returns the lines of docs/hub.md that set up the hub as a service. */
function hubLines(): string[] {
  const page = readFileSync(join(ROOT, 'docs/hub.md'), 'utf8')
  const [, block = ''] = /^- \*\*As a service\.\*\*[\s\S]*?```sh\n([\s\S]*?)```/m.exec(page) ?? []
  return block.trim().split(/\n\s*/)
}

const STEPS: Record<string, (machine: Machine) => Promise<void> | void> = {
  'the lines of README.md install it, to the first page within a minute': (machine) => {
    const [install = '', ...others] = installLines()
    const startedAtMs = performance.now()
    const printed = machine.must(`set -e; cd /root\n${install}`)
    assert.match(machine.get('/'), /^HTTP\/1\.1 (200|302)/)
    const tookS = (performance.now() - startedAtMs) / 1000
    console.log(`    installed and served in ${tookS.toFixed(1)} s`)
    assert.ok(tookS < INSTALL_S)
    assert.match(printed, /Status: "serves http:/)
    const [key = '', code = ''] = machine.file('var/lib/cartbarn/admin-key.txt').trim().split('\n')
    assert.match(code, /^setup code: /)
    const log = machine.must('journalctl -u cartbarn --no-pager')
    assert.match(log, /admin-key\.txt/)
    assert.ok(!log.includes(key) && !log.includes(code.replace('setup code: ', '')), 'a secret is in the log')
    for (const lines of others) machine.must(`set -e\n${lines}`)
    assert.notEqual(machine.file('var/lib/cartbarn/admin-key.txt').split('\n')[0], key)
  },
  'only its user reads the data and the settings': (machine) => {
    const modes = machine.must(`stat -c '%a %U:%G' /var/lib/cartbarn ${CONF}; find /var/lib/cartbarn ! -user cartbarn`)
    assert.deepEqual(modes.split('\n'), ['700 cartbarn:cartbarn', '640 root:cartbarn'])
  },
  'one process runs as its user, without one that waits for it': (machine) => {
    const inside = machine.must('systemctl show cartbarn --property=ControlGroup --value')
    const pids = machine.must(
      `cat /sys/fs/cgroup${inside}/cgroup.procs 2>/dev/null || cat /sys/fs/cgroup/systemd${inside}/cgroup.procs`,
    )
    assert.equal(pids, state(machine, 'MainPID'))
  },
  'what a device reports is read back, the database is checked, and no line of the log is an error': async (
    machine,
  ) => {
    const key = machine.must('head -1 /var/lib/cartbarn/admin-key.txt')
    assert.equal(JSON.parse(machine.runOutside(NEIGHBOUR, 'message', key)).length, 1)
    const isChecked = () => healthOf(machine, key).last_check_at !== undefined
    await eventually(isChecked, 'the check of the database after the start', 120_000)
    const log = machine.must('journalctl -u cartbarn --no-pager --output=cat')
    assert.doesNotMatch(log, /"level":"(error|fatal)"/)
  },
  'doctor looks at the service, with its settings': (machine) => {
    const output = machine.must('cartbarn doctor')
    assert.match(output, /^ok +settings .*cartbarn\.service and \/etc\/cartbarn\/cartbarn\.conf$/m)
    assert.match(output, /^ok +data folder +\/var\/lib\/cartbarn is for its user only$/m)
  },
  'a stick that is mounted later can be written, the rest of the machine cannot': (machine) => {
    machine.must('mkdir -p /media/stick; mount -t tmpfs tmpfs /media/stick')
    const inside = `nsenter -m -t ${state(machine, 'MainPID')} --`
    machine.must(`${inside} touch /media/stick/backup`)
    assert.match(machine.run(`${inside} touch /usr/lib/cartbarn/other`).out, /Read-only/)
  },
  'a gateway that is killed is started again': async (machine) => {
    const pid = state(machine, 'MainPID')
    machine.must(`kill -9 ${pid}`)
    await servesAgain(machine, pid)
  },
  'a gateway that stands still is ended by the watchdog and started again': async (machine) => {
    machine.must(
      'mkdir -p /run/systemd/system/cartbarn.service.d; printf "[Service]\\nWatchdogSec=6\\n" > ' +
        '/run/systemd/system/cartbarn.service.d/soon.conf; systemctl daemon-reload; systemctl restart cartbarn',
    )
    const pid = state(machine, 'MainPID')
    // stays alive while it works for three times the watchdog timeout
    await new Promise((resolve) => setTimeout(resolve, 18_000))
    assert.equal(state(machine, 'MainPID'), pid)
    machine.must(`kill -STOP ${pid}`)
    await servesAgain(machine, pid, 120_000)
    assert.match(machine.must('journalctl -u cartbarn --no-pager'), /Watchdog timeout/)
    machine.must('rm -r /run/systemd/system/cartbarn.service.d; systemctl daemon-reload; systemctl restart cartbarn')
  },
  'a broken setting ends it with 78, in words, and nothing starts it again': async (machine) => {
    machine.must(`cp -p ${CONF} /root/good.conf; printf 'CARTBARN_HTTP_PO' >> ${CONF}`)
    try {
      machine.run('systemctl restart cartbarn')
      await eventually(() => state(machine, 'ActiveState') === 'failed', 'failed')
      assert.deepEqual([state(machine, 'ExecMainStatus'), state(machine, 'Result')], ['78', 'exit-code'])
      assert.match(
        machine.must('journalctl -u cartbarn --no-pager -n 20'),
        /line \d+ of the configuration file .* must be NAME=value/,
      )
      // the unit that runs after a failure takes a moment to respond
      await eventually(() => /a setting is wrong/.test(swapBackLog(machine)), 'it was looked at')
      assert.equal(state(machine, 'ActiveState'), 'failed')
    } finally {
      // the steps before have started it as often as systemd allows
      machine.must(`cp -p /root/good.conf ${CONF}; systemctl reset-failed cartbarn; systemctl start cartbarn`)
    }
  },
  'a port that is taken is tried again until it is free': async (machine) => {
    machine.must('systemctl stop cartbarn; systemd-run --quiet --unit=taker --property=Type=simple sleep infinity')
    machine.must(
      'systemctl stop taker; printf "[Socket]\\nListenStream=1883\\n[Install]\\n" > ' +
        '/run/systemd/system/taker.socket; printf "[Service]\\nExecStart=/bin/true\\n" > ' +
        '/run/systemd/system/taker.service; systemctl daemon-reload; systemctl start taker.socket',
    )
    machine.run('systemctl start cartbarn', 30_000)
    await eventually(
      () => /port 1883 is taken by/.test(machine.must('journalctl -u cartbarn --no-pager -n 20')),
      'the port is named',
    )
    assert.notEqual(state(machine, 'ActiveState'), 'failed')
    machine.must('systemctl stop taker.socket')
    await servesAgain(machine, '0')
  },
  'first starts that are killed at many moments leave a key to be had': async (machine) => {
    machine.must('systemctl stop cartbarn; rm -rf /var/lib/cartbarn/*; systemctl start --no-block cartbarn')
    for (let i = 1; i <= 12; i++) {
      machine.run(
        `sleep ${(i * 0.15).toFixed(2)}; systemctl kill --signal=KILL cartbarn; systemctl reset-failed ` +
          'cartbarn; systemctl start --no-block cartbarn',
      )
    }
    await servesAgain(machine, '0')
    assert.match(machine.file('var/lib/cartbarn/admin-key.txt'), /^flt_\S+\nsetup code: /)
  },
  'installed again it keeps data and settings': async (machine) => {
    const before = machine.must('sha256sum < /var/lib/cartbarn/admin-key.txt')
    machine.must(`echo '# mine' >> ${CONF}; apt-get install -y --reinstall /root/*.deb`)
    await servesAgain(machine, '0')
    assert.equal(machine.must('sha256sum < /var/lib/cartbarn/admin-key.txt'), before)
    assert.match(machine.file('etc/cartbarn/cartbarn.conf'), /# mine/)
  },
  [SIGNED]: async (machine) => {
    const pid = state(machine, 'MainPID')
    const printed = machine.must('cd /root; cartbarn upgrade cartbarn_*.deb', 300_000)
    assert.match(printed, /is as it was signed\.\n[\s\S]*Installed\./)
    await servesAgain(machine, pid)
    const altered = machine.run(
      `mkdir altered; cp cartbarn_*.deb ${SUMS.join(' ')} altered; cd altered; printf . >> cartbarn_*.deb; ` +
        'cartbarn upgrade cartbarn_*.deb',
    )
    assert.equal(altered.code, 1)
    assert.match(altered.out, /nothing was changed: \S+ was altered/)
    machine.must('rm -r altered')
  },
  'the lines of docs/hub.md start a hub, which is started again after a kill and by an upgrade': async (machine) => {
    // the network of the machine has no PostgreSQL
    const lines = hubLines().filter((line) => !line.includes('postgres://'))
    assert.equal(lines.length, 3)
    // a bare Debian has no sudo
    for (const line of lines.slice(0, -1)) machine.must(line.replace('sudo ', ''))
    await hubServesAgain(machine, '0')
    assert.match(machine.must((lines.at(-1) ?? '').replace('sudo ', '')), /^ +cbs_\S+$/m)
    assert.equal(machine.must("stat -c '%a %U' /var/lib/cartbarn-hub"), '700 cartbarn')
    for (const restart of [
      'kill -9 $(systemctl show cartbarn-hub --property=MainPID --value)',
      'apt-get install -y --reinstall /root/*.deb',
    ]) {
      const pid = state(machine, 'MainPID', 'cartbarn-hub')
      machine.must(restart)
      await hubServesAgain(machine, pid)
    }
    assert.doesNotMatch(machine.must('journalctl -u cartbarn-hub --no-pager --output=cat'), /"level":"(error|fatal)"/)
    machine.must('systemctl disable --now cartbarn-hub; systemctl enable --now cartbarn')
  },
  [LAST]: (machine) => {
    for (const action of ['remove', 'purge']) {
      const printed = machine.must(`apt-get ${action} -y cartbarn`)
      assert.match(printed, /all data stays in \/var\/lib\/cartbarn/)
      machine.must('test -s /var/lib/cartbarn/cartbarn.db; ! test -e /usr/lib/cartbarn/cartbarn')
    }
    assert.notEqual(machine.run('systemctl cat cartbarn').code, 0)
  },
}

async function check(suite: string, deb: string, binds: readonly string[]): Promise<number> {
  const machine = new Machine(bareDebian(suite, CACHE), binds)
  try {
    const files = [deb, ...SUMS.map((name) => join(dirname(deb), name))].filter((path) => existsSync(path))
    for (const path of files) copyFileSync(path, join(machine.root, 'root', basename(path)))
    await machine.start()
    const { [LAST]: last = () => undefined, ...steps } = STEPS
    if (files.length <= SUMS.length) delete steps[SIGNED]
    return await runSteps(suite, machine, { ...steps, ...swapBackSteps(basename(deb)), [LAST]: last })
  } finally {
    await machine.stop()
  }
}

const [deb, ...binds] = process.argv.slice(2)
if (deb === undefined || process.getuid?.() !== 0) {
  console.error('check:release: as root, the path of a .deb is needed: npm run build:deb makes one')
  process.exit(2)
}
let failures = 0
const aDebian = () => bareDebian('trixie', CACHE)
for (const suite of ALONE.includes(deb) ? [] : SUITES) failures += await check(suite, deb, binds)
const isTried = (name: string) => !ALONE.includes(deb) || deb === name
if (isTried('program')) failures += await checkProgram(ROOT, RELEASE, aDebian)
if (isTried('rebuild')) failures += await checkRebuild(ROOT, RELEASE)
if (isTried('containers')) failures += await checkContainers(aDebian)
if (isTried('clone')) failures += await checkClone(ROOT)
process.exitCode = failures === 0 ? 0 : 1
