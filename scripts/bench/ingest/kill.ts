import { setTimeout as sleep } from 'node:timers/promises'
import { none } from '#scripts/rig/figures.ts'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { checkHistory } from '#scripts/rig/load/history-check.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { formatCount, printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'

const DEVICES = 200
const PER_DEVICE_PER_S = 25
const SHORT_KILLS = 3
const LIFE_MIN_MS = 300
const LIFE_SPREAD_MS = 2000

/** Checks that a message with a PUBACK is on disk. */
export const kill = measurement({
  name: 'kill',
  summary: `kill -9 at random moments of ${formatCount(DEVICES * PER_DEVICE_PER_S)} messages a second`,
  rounds: 20,
  figures: {
    acknowledged: { what: 'messages acknowledged' },
    missing: none('acknowledged but missing'),
    duplicates: none('stored twice'),
    unacknowledged: none('never acknowledged'),
    restart: { what: 'from the kill to listening again', unit: ' ms' },
  },
  async run({ bench, entry, isShort, rounds }) {
    const kills = isShort ? Math.max(SHORT_KILLS, rounds) : rounds
    const dataDir = bench.createFolder('kill')
    let gateway = await startGateway(bench, { entry, dataDir })
    const clients = await gateway.api.registerDevices(DEVICES)
    const running = startDeviceLoad(bench, gateway, clients, PER_DEVICE_PER_S, { keepsJournal: true })
    await running.connected()
    const restart: number[] = []
    for (let done = 1; done <= kills; done++) {
      await sleep(LIFE_MIN_MS + Math.random() * LIFE_SPREAD_MS)
      const killedAtMs = performance.now()
      await gateway.process.stop('SIGKILL')
      gateway = await startGateway(bench, { entry, dataDir, ports: gateway.ports })
      restart.push(performance.now() - killedAtMs)
      await running.connected()
      printProgress(`  kill ${done} of ${kills}`)
    }
    await sleep(LIFE_MIN_MS)
    running.stop()
    const { load, journal } = await running.finish()
    const { acknowledged, missing, duplicates, examples } = await checkHistory(gateway.api, journal)
    for (const example of examples) printProgress(`  missing: ${example}`)
    await gateway.process.stop()
    return { acknowledged, missing, duplicates, unacknowledged: load.sent - load.acknowledged, restart }
  },
})
