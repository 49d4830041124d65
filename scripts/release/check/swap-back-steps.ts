import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { eventually } from '#shared/testing/eventually.ts'
import { buildDeb } from '../deb/package.ts'
import type { Machine } from './machine.ts'
import { healthOf, servesAgain, state, swapBackLog } from './service.ts'

const LATER = '99.0.0'
const NO_PROGRAM = `#!/bin/sh
echo 'fatal error: this program does nothing' >&2
exit 1
`
const DROP_IN = '/run/systemd/system/cartbarn.service.d/check.conf'
const DATABASE = '/var/lib/cartbarn/cartbarn.db'
/** Eight starts at intervals of five seconds. */
const SWAPPED_MS = 120_000

/** Steps with upgrades that fail, and services that fail for another reason. `deb` is the tested package in `/root`. */
export function swapBackSteps(deb: string): Record<string, (machine: Machine) => Promise<void>> {
  return {
    'a new program that exits immediately is swapped back once, with a report': async (machine) => {
      const later = putLater(machine, NO_PROGRAM)
      const own = machine.must('cartbarn version')
      machine.must(`dpkg --install /root/${later}`)
      assert.equal(machine.run('cartbarn version').code, 1)
      await eventually(() => machine.run('cartbarn version').out.trim() === own, 'it is back', SWAPPED_MS)
      await servesAgain(machine, '0')
      assert.match(
        swapBackLog(machine),
        /cartbarn 99\.0\.0 does not run \(it ended with code 1: fatal error: this program does/,
      )
      const [key = ''] = machine.file('var/lib/cartbarn/admin-key.txt').split('\n')
      const { status, went_back } = healthOf(machine, key)
      assert.deepEqual([status, went_back?.from, went_back?.to], ['ok', LATER, own.replace('cartbarn ', '')])
      assert.match(went_back?.detail ?? '', /this program does nothing/)
      assert.equal(state(machine, 'Result', 'cartbarn-swap-back'), 'success')
      machine.must(`rm /root/${later}`)
    },
    'a failure without an upgrade is restarted without a limit': async (machine) => {
      setService(machine, 'RestartSec=200ms')
      const restarts = () => swapBackLog(machine).split('There is no upgrade to undo').length - 1
      machine.must(`systemctl stop cartbarn; cp -p ${DATABASE} /root/whole.db; truncate --size=8192 ${DATABASE}`)
      const before = restarts()
      machine.run('systemctl start --no-block cartbarn')
      await eventually(() => restarts() >= before + 2, 'it was given up and started again twice', SWAPPED_MS)
      machine.must(`cp -p /root/whole.db ${DATABASE}`)
      await servesAgain(machine, '0')
    },
    'restarted as often as a person likes, it serves': async (machine) => {
      machine.must('for i in 1 2 3 4 5 6 7 8 9 10; do systemctl restart cartbarn; done', 240_000)
      await servesAgain(machine, '0')
    },
    'restarted and killed again and again after an upgrade, the new program stays': async (machine) => {
      const later = putLater(machine, readFileSync(join(machine.root, 'usr/lib/cartbarn/cartbarn')))
      machine.must(`dpkg --install /root/${later}`)
      await servesAgain(machine, '0')
      machine.must('for i in 1 2 3 4 5 6 7 8 9 10; do systemctl restart cartbarn; done', 240_000)
      await servesAgain(machine, '0')
      setService(machine, 'RestartSec=200ms')
      const attempts = () => swapBackLog(machine).split('no fault of an upgrade').length
      const before = attempts()
      // each kill hits it either ready or starting
      machine.run('for i in $(seq 30); do systemctl kill --signal=KILL cartbarn; sleep 1; done', 240_000)
      await eventually(() => attempts() > before, 'it was given up and looked at', SWAPPED_MS)
      await servesAgain(machine, '0')
      machine.must('! test /usr/lib/cartbarn/cartbarn -ef /usr/lib/cartbarn/cartbarn.previous')
      machine.must(`rm ${DROP_IN} /root/${later}; systemctl daemon-reload`)
    },
    'a service stopped by an operator stays stopped, also if it has to be killed': async (machine) => {
      // systemd sends no signal that ends it, and kills it after the timeout
      setService(machine, 'KillSignal=SIGCONT', 'TimeoutStopSec=2')
      machine.must('systemctl stop cartbarn || true')
      await eventually(() => /it was stopped manually/.test(swapBackLog(machine)), 'it was looked at')
      assert.equal(state(machine, 'ActiveState'), 'failed')
      machine.must(`rm ${DROP_IN}; systemctl daemon-reload; systemctl start cartbarn`)
      await servesAgain(machine, '0')
    },
    'the version before is installed over it, and there is nothing to swap': (machine) => {
      machine.must(`dpkg --install /root/${deb}`)
      assert.equal(machine.must('dpkg-query --show cartbarn').split('\t')[1], basename(deb).split('_')[1])
      return servesAgain(machine, '0')
    },
  }
}

/** Packs a program as a later version; returns the name of the package, which is in `/root`. */
function putLater(machine: Machine, program: string | Buffer): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-later-'))
  try {
    writeFileSync(join(folder, 'program'), program, { mode: 0o755 })
    return basename(
      buildDeb({
        program: join(folder, 'program'),
        version: LATER,
        licences: '',
        changelog: '',
        changedAtS: 0,
        architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
        folder: join(machine.root, 'root'),
      }),
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function setService(machine: Machine, ...lines: string[]): void {
  machine.must(
    `mkdir -p $(dirname ${DROP_IN}); printf '[Service]\\n${lines.join('\\n')}\\n' > ${DROP_IN}; systemctl ` +
      `daemon-reload`,
  )
}
