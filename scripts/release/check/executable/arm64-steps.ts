import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '#shared/testing/eventually.ts'
import type { Machine } from '../machine.ts'
import { NEIGHBOUR, type ProgramStep } from './program-steps.ts'

/** Emulator of the processor: one static file. Debian: qemu-user-static. */
const QEMU = '/usr/bin/qemu-aarch64-static'
/** Debian libraries for that processor: libstdc++6-arm64-cross and its dependencies. */
const LIBRARIES = '/usr/aarch64-linux-gnu'
const PROGRAM = '/opt/cartbarn-arm64'
/** Page sizes of a Raspberry Pi 4 and 5. */
const PAGE_BYTES = [4096, 16_384]
const START_MS = 120_000

/** Copies the executable for arm64 and its emulator into a machine, before the machine starts. */
export function putArm64(machine: Machine, program: string): void {
  for (const path of [QEMU, LIBRARIES]) {
    if (!existsSync(path))
      throw new Error(`there is no ${path}: apt-get install qemu-user-static libstdc++6-arm64-cross`)
    cpSync(path, join(machine.root, path), { recursive: true, verbatimSymlinks: true })
  }
  mkdirSync(join(machine.root, PROGRAM))
  cpSync(program, join(machine.root, PROGRAM, 'cartbarn'))
}

/** Steps that run the executable for arm64 on an emulated processor, with pages of both sizes. */
export const ARM64_STEPS: Record<string, ProgramStep> = Object.fromEntries(
  PAGE_BYTES.map((bytes) => [
    `arm64 with pages of ${bytes / 1024} KB: serves, pairs, stores a message, stops in order`,
    (machine) => servesAndStops(machine, bytes),
  ]),
)

async function servesAndStops(machine: Machine, pageBytes: number): Promise<void> {
  const data = `/srv/arm64-${pageBytes}`
  const command = `${QEMU} -p ${pageBytes} -L ${LIBRARIES} ${PROGRAM}/cartbarn`
  assert.match(machine.must(`${command} version`), /^cartbarn \d+\.\d+\.\d+$/)
  // stays after its end, so that its result can be read
  const unit = `--unit=arm64 --remain-after-exit --setenv=CARTBARN_DATA_DIR=${data}`
  machine.must(`systemd-run --quiet ${unit} ${command} run`)
  try {
    await eventually(() => machine.get('/health').startsWith('HTTP/1.1 200'), 'to be served', START_MS)
    const key = machine.must(`head -1 ${data}/admin-key.txt`)
    assert.deepEqual(JSON.parse(machine.runOutside(NEIGHBOUR, 'pairing', key)), [201, 200])
    assert.equal(JSON.parse(machine.runOutside(NEIGHBOUR, 'message', key)).length, 1)
    machine.must('systemctl kill --signal=TERM arm64')
    const property = (name: string) => machine.must(`systemctl show arm64 --property=${name} --value`)
    await eventually(() => property('SubState') === 'exited', 'an end')
    assert.equal(property('ExecMainStatus'), '0')
    assert.match(machine.must('journalctl -u arm64 --no-pager'), /"msg":"stopped"/)
  } finally {
    machine.run('systemctl stop arm64; systemctl reset-failed arm64')
  }
}
