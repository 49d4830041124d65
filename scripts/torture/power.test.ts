import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { after, test } from 'node:test'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { spawnGateway, startGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import { Workbench } from '#scripts/rig/processes.ts'
import { findDamage } from './disk/integrity.ts'
import { createDataFolder, RecordedFolder } from './disk/recorded-folder.ts'
import { compileDiskRecorder } from './disk/recorder.ts'
import { FleetLoad } from './fleet-load.ts'

/** Long after the devices are registered, in the middle of their telemetry. */
const KILL_AT_CHANGE = 1500

const bench = new Workbench()
after(() => bench.clear())
process.on('exit', () => bench.clear())

test('what was acknowledged before a power cut is there after it', async (t) => {
  const recorder = compileDiskRecorder(bench)
  if ('missing' in recorder) return t.skip(recorder.missing)

  const folder = new RecordedFolder(bench, recorder.library, createDataFolder(bench, 'power'))
  const dying = spawnGateway(bench, { entry: ENTRY, dataDir: folder.path, ...folder.begin(KILL_AT_CHANGE) })
  const size = { devices: 10, perDevicePerS: 50, lockDevices: 2 }
  const fleet = await FleetLoad.start(bench, await untilListening(dying), size)
  await dying.exited

  for (const unsynced of ['none', 'some sectors', 'all'] as const) {
    const { path } = folder.rebuild(unsynced)
    assert.deepEqual(findDamage(bench, path), [], unsynced)
  }
  // a disk that ignores syncs loses even the names of the files: whatever the next lines find is there only through
  // syncs
  assert.deepEqual(readdirSync(folder.rebuild('none', 'ignored').path), [])

  folder.cut('none')
  const gateway = await startGateway(bench, { entry: ENTRY, dataDir: folder.path })
  const { samples, lockEvents: _, ...faults } = await fleet.checkNew(gateway)
  fleet.abandon()
  await gateway.process.stop()
  assert.ok(samples > 0)
  for (const [fault, count] of Object.entries(faults)) assert.equal(count, 0, fault)
})
