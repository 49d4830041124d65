import { rmSync } from 'node:fs'
import { ForkedScript } from '#scripts/rig/calls.ts'
import { none } from '#scripts/rig/figures.ts'
import { type GatewayProcess, LIMITED } from '#scripts/rig/gateway-process.ts'
import { checkHistory } from '#scripts/rig/load/history-check.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import type { Neighbour } from '#scripts/rig/neighbours/attack-plan.ts'
import { type AttackedCourse, NEIGHBOURS, ROW_OF_GOOD_KEYS } from '#scripts/rig/neighbours/attacks.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { measurement, type RunContext, type Scenario, type ScenarioContext } from '#scripts/rig/scenario.ts'
import { createAttacked } from './attacked-folder.ts'
import type { RegularsFunctions } from './regulars.ts'
import { BASE, measureRounds, NOISE_FIGURES, noiseValues, ofBoth, ratios, type Stage, waiting } from './sides.ts'

const PER_DEVICE_PER_S = 1
/** In the first half second after a start V8 compiles the used code, and every client waits 20 to 70 ms. */
const WARM_UP_S = 2

const FIGURES = {
  puback: waiting('PUBACK of 200 devices'),
  pubackBase: BASE,
  health: waiting('GET /health'),
  healthBase: BASE,
  unlock: { what: 'longest unlock by an admin', unit: ' ms', target: ['<=', 1000], by: 'most' },
  samplesLost: none('acknowledged samples lost'),
  ordersLost: none('acknowledged messages lost from an MQTT session'),
  ...NOISE_FIGURES,
} as const
const KEY_FIGURES = { ...FIGURES, keysRefused: none('good keys refused') }

/** Measures a gateway with 200 devices, an admin and a shop, and one kind of noisy client each. */
export const gatewayRows: readonly Scenario[] = NEIGHBOURS.map((neighbour) =>
  measurement<string>({
    name: neighbour.name,
    summary: neighbour.summary,
    rounds: 3,
    durationS: [8, 0.5],
    figures: usesGoodKeys(neighbour) ? KEY_FIGURES : FIGURES,
    async run(context) {
      const rounds = await measureRounds(context, (side) => open(context, neighbour, side === 'attacked'))
      const base = rounds.map((round) => round.base.seen)
      return {
        puback: ratios(rounds, 'pubackMs'),
        pubackBase: base.map(({ pubackMs }) => pubackMs),
        health: ratios(rounds, 'healthMs'),
        healthBase: base.map(({ healthMs }) => healthMs),
        unlock: rounds.map(({ attacked }) => attacked.seen.unlockMs),
        samplesLost: ofBoth(rounds, 'samplesLost'),
        ordersLost: ofBoth(rounds, 'ordersLost'),
        keysRefused: ofBoth(rounds, 'keysRefused'),
        ...noiseValues(rounds),
      }
    },
  }),
)

function usesGoodKeys({ name }: Neighbour<AttackedCourse>): boolean {
  return name === ROW_OF_GOOD_KEYS
}

type Seen = Record<'pubackMs' | 'healthMs' | 'unlockMs' | 'samplesLost' | 'ordersLost' | 'keysRefused', number>

async function open(
  context: RunContext,
  neighbour: Neighbour<AttackedCourse>,
  isAttacked: boolean,
): Promise<Stage<Seen>> {
  const { bench, isShort, durationS } = context
  const course = await bench.shared(createAttacked, context)
  const regulars = bench.shared(startRegulars, bench)
  // in the short form the rows share a gateway; bad keys need one that has just started
  const isOwn = !isShort || (usesGoodKeys(neighbour) && isAttacked)
  const { gateway, end } = await (isOwn ? startCopy(context) : bench.shared(startCopy, context))
  await regulars.call('gather', { ports: gateway.ports, admin: course.admin, cart: course.unlocked })
  const options = { warmupS: null, durationS, keepsJournal: true }
  const devices = startDeviceLoad(bench, gateway, course.fleet, PER_DEVICE_PER_S, options)
  await devices.connected()
  return {
    ports: gateway.ports,
    plan: () => neighbour.plan(course, isShort),
    measure: async () => {
      // good keys are used immediately: a warm-up would hide what bad ones had cost them
      if (!isShort && !usesGoodKeys(neighbour)) await regulars.call('measure', WARM_UP_S, [])
      devices.measure()
      const keys = usesGoodKeys(neighbour) ? course.goodKeys : []
      await Promise.all([devices.measured(), regulars.call('measure', durationS, keys)])
    },
    finish: async () => {
      const { load, journal } = await devices.finish()
      const seen = await regulars.call('finish')
      const { missing } = await checkHistory(gateway.api, journal)
      if (isOwn) await end()
      return { ...seen, pubackMs: load.measured.sinceWrite.p99Ms, samplesLost: missing }
    },
  }
}

function startRegulars(bench: Workbench): ForkedScript<RegularsFunctions> {
  return new ForkedScript(bench, new URL('./regulars.ts', import.meta.url))
}

/** Starts a gateway on a copy of the course. */
async function startCopy(context: ScenarioContext): Promise<{ gateway: GatewayProcess; end(): Promise<void> }> {
  const { folder } = await context.bench.shared(createAttacked, context)
  const copy = folder.copy()
  const gateway = await copy.start(LIMITED)
  const end = async () => {
    await gateway.process.stop()
    rmSync(copy.path, { recursive: true })
  }
  return { gateway, end }
}
