import { setTimeout as sleep } from 'node:timers/promises'
import { none } from '#scripts/rig/figures.ts'
import { startGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { countDamage } from './disk/integrity.ts'
import { createDataFolder } from './disk/recorded-folder.ts'
import { FLEET_FIGURES, FleetLoad, fleetSize } from './fleet-load.ts'
import { MortalGateway } from './mortal-gateway.ts'
import { ordeal } from './scenario.ts'

const INTEGRITY_EVERY = 20
const SHORT_INTEGRITY_EVERY = 2
const PROGRESS_EVERY = 10
const LAST_LIFE_MS = 300

/** Checks that a process may end at any moment. */
export const kill = ordeal({
  name: 'kill',
  summary: 'kill -9 under load, while starting, right after and while stopping; nothing acknowledged may be lost',
  cycles: [200, 3],
  figures: {
    kills: { what: 'kills' },
    underLoad: { what: 'kills under load' },
    ...FLEET_FIGURES,
    statesAfter: none('carts whose state differs from their newest record, after one more kill'),
    unacknowledged: none('messages that were never acknowledged'),
    damage: none('findings of integrity_check'),
    start: { what: 'from a start to listening', unit: ' ms' },
  },
  async run(context) {
    const { bench, entry, isShort, cycles } = context
    const integrityEvery = isShort ? SHORT_INTEGRITY_EVERY : INTEGRITY_EVERY
    const dataDir = createDataFolder(bench, 'kill')
    const first = await startGateway(bench, { entry, dataDir })
    const load = await FleetLoad.start(bench, first, fleetSize(isShort))
    const gateway = new MortalGateway(context, first.ports, () => load.connected())
    await first.process.stop('SIGKILL')

    let damage = 0
    for (let done = 1; done <= cycles; done++) {
      await gateway.kill(dataDir)
      if (done % integrityEvery === 0 || done === cycles) damage += countDamage(bench, dataDir)
      if (done % PROGRESS_EVERY === 0) printProgress(`  ${done} of ${cycles} kills`)
    }
    const last = await untilListening(gateway.spawn({ dataDir }))
    await load.connected()
    await sleep(LAST_LIFE_MS)
    const { fleet, unacknowledged } = await load.finish(last)
    // no message is sent any more that would correct a state
    await last.process.stop('SIGKILL')
    const again = await untilListening(gateway.spawn({ dataDir }))
    const statesAfter = await load.countWrongStates(again)
    await again.process.stop()
    return {
      kills: cycles,
      underLoad: gateway.moments.filter((moment) => moment === 'under load').length,
      ...fleet,
      statesAfter,
      unacknowledged,
      damage,
      start: gateway.startsMs,
    }
  },
})
