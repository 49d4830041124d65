import { setTimeout as sleep } from 'node:timers/promises'
import { createPeople, createTablets } from '#scripts/rig/course.ts'
import { none } from '#scripts/rig/figures.ts'
import { type BenchDevice, type GatewayApi, loginOf } from '#scripts/rig/gateway-api.ts'
import { ADMIN_KEY, type GatewayProcess, LIMITED, startGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import { TIMEOUT_MS } from '#scripts/rig/neighbours/ask.ts'
import type { Neighbour } from '#scripts/rig/neighbours/attack-plan.ts'
import { type AttackedCourse, NEIGHBOURS, SHORT_NEIGHBOURS } from '#scripts/rig/neighbours/attacks.ts'
import { startNeighbour } from '#scripts/rig/neighbours/process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { SessionClient } from '#scripts/rig/session-client.ts'
import { mustReach, waitUntil } from '#scripts/rig/wait-until.ts'
import { countDamage } from '../disk/integrity.ts'
import { createDataFolder } from '../disk/recorded-folder.ts'
import { FLEET_FIGURES, FleetLoad } from '../fleet-load.ts'
import { MortalGateway } from '../mortal-gateway.ts'
import { ordeal, printFaults } from '../scenario.ts'
import { Regulars } from './regulars.ts'

const FULL = {
  killsOfGroup: 4,
  atOnce: 3,
  underAttackMs: 4000,
  pastSamples: 50_000,
  budgets: { ofLife: 1, ofAll: 6 },
  fleet: { devices: 100, perDevicePerS: 2, lockDevices: 5 },
}
/** Sizes of the short form, with the most expensive noisy client of each port. */
const SHORT = {
  killsOfGroup: 2,
  atOnce: 4,
  underAttackMs: 1500,
  pastSamples: 2000,
  budgets: { ofLife: 2, ofAll: 2 },
  fleet: { devices: 20, perDevicePerS: 2, lockDevices: 2 },
}
const GOOD_KEYS = 6
const SAMPLES_A_MESSAGE = 500
const CHECK_GAP_MS = 500
const PAST_LIMIT_MS = 60_000
/** Memory limit of a gateway with two cores; without noisy clients it needs a fifth. */
const MAX_MB = 1024
const BUDGET = /^cartbarn_budget_refused_total\{budget="(\w+)"\} (\d+)/gm
const RESIDENT = /^process_resident_memory_bytes (\S+)/m

/** Careless and hostile clients, at a gateway that is killed under their load. */
export const neighbours = ordeal({
  name: 'neighbours',
  summary:
    'careless and hostile clients, several kinds together, while the gateway is killed; no other client may ' +
    'lose anything',
  cycles: [40, 2],
  figures: {
    kills: { what: 'kills' },
    ...FLEET_FIGURES,
    unacknowledged: none('messages that were never acknowledged'),
    answered: { what: 'answered requests of others' },
    refused: none('good keys refused'),
    unanswered: none(`requests of others without a response after ${TIMEOUT_MS / 1000} s`),
    budgets: { what: 'budgets that refused the noisy clients' },
    idleBudgets: none('budgets that should have refused them, and did not'),
    memory: { what: 'most memory of the gateway', unit: ' MB' },
    tooLarge: none(`queries that found more than ${MAX_MB} MB`),
    damage: none('findings of integrity_check'),
    start: { what: 'from a start to listening', unit: ' ms' },
    longestAnswer: { what: 'longest response to others', unit: ' ms' },
    longestAcknowledgement: { what: 'longest until a PUBACK, starts included', unit: ' ms' },
  },
  async run(context) {
    const { bench, entry, isShort, cycles } = context
    const sizes = isShort ? SHORT : FULL
    const dataDir = createDataFolder(bench, 'neighbours')
    const first = await startGateway(bench, { entry, dataDir })
    const load = await FleetLoad.start(bench, first, sizes.fleet)
    const { course, regular, keys } = await furnish(first, sizes.pastSamples)
    const watch = new Watch(first.api)
    const whenListening = async () => {
      await load.connected()
      await sleep(sizes.underAttackMs)
      await watch.check(sizes.budgets.ofLife)
    }
    const gateway = new MortalGateway(context, first.ports, whenListening, LIMITED)
    const regulars = new Regulars(first.ports, regular)
    regulars.start([ADMIN_KEY, ...keys])
    await first.process.stop('SIGKILL')
    for (let done = 0; done < cycles; done += sizes.killsOfGroup) {
      const group = groupOf(isShort, done / sizes.killsOfGroup, sizes.atOnce)
      const running = group.map((neighbour) => {
        const process = startNeighbour(bench)
        process.post('start', neighbour.plan(course, isShort), first.ports)
        return process
      })
      const left = Math.min(sizes.killsOfGroup, cycles - done)
      // one of each group dies with all its noisy clients at work
      for (let n = 0; n < left; n++) await gateway.kill(dataDir, n === 0 ? 'under load' : undefined)
      await Promise.all(running.map((process) => process.stop()))
      printProgress(`  ${done + left} of ${cycles} kills, with ${group.map(({ name }) => name).join(', ')}`)
    }
    const damage = countDamage(bench, dataDir)
    // the noisy clients are gone; acknowledged records are searched for as fast as the gateway can
    const last = await untilListening(gateway.spawn({ dataDir, env: { CARTBARN_REQUESTS_PER_SECOND: '0' } }))
    await load.connected()
    const asked = await regulars.stop()
    printFaults(asked.examples)
    const { fleet, unacknowledged } = await load.finish(last)
    await last.process.stop()
    printProgress(`  refused by ${[...watch.refused].map(([budget, count]) => `${budget} ${count}`).join(', ')}`)
    return {
      kills: cycles,
      ...fleet,
      unacknowledged: unacknowledged + asked.unacknowledged,
      answered: asked.answered,
      refused: asked.refused,
      unanswered: asked.unanswered,
      budgets: watch.refused.size,
      idleBudgets: Math.max(0, sizes.budgets.ofAll - watch.refused.size),
      memory: watch.mostMb,
      tooLarge: watch.tooLarge,
      damage,
      start: gateway.startsMs,
      longestAnswer: asked.longestAnswerMs,
      longestAcknowledgement: asked.longestAcknowledgementMs,
    }
  },
})

/** Rotates through all kinds, in changing combinations. */
function groupOf(isShort: boolean, turn: number, atOnce: number): Neighbour<AttackedCourse>[] {
  if (isShort) return NEIGHBOURS.filter(({ name }) => SHORT_NEIGHBOURS.includes(name))
  const from = turn * atOnce + Math.floor((turn * atOnce) / NEIGHBOURS.length)
  return Array.from({ length: atOnce }, (_, i) => NEIGHBOURS[(from + i) % NEIGHBOURS.length]).filter(
    (neighbour) => neighbour !== undefined,
  )
}

/** Creates what noisy clients need, and the cart and the keys of the regular clients. */
async function furnish({ api, ports }: GatewayProcess, pastSamples: number) {
  const [rogue, seen, regular] = await api.registerDevices(3, 'course')
  if (rogue === undefined || seen === undefined || regular === undefined) throw new Error('no devices')
  const all = await api.hardwareIds()
  await sendPast(seen, ports.mqtt, pastSamples)
  const people = await createPeople(api, seen.hardwareId, all.slice(0, 200))
  const keys = await createTablets(api, GOOD_KEYS, all.slice(0, 50))
  return { course: { ...people, rogue, lockEvents: 10_000 }, regular, keys }
}

/** Sends a history to download, as a cart does after an absence. */
async function sendPast(device: BenchDevice, port: number, count: number): Promise<void> {
  const client = new SessionClient({ port, ...loginOf(device), isPersistent: false })
  client.goOnline()
  const fromMs = Date.now() - count * 1000
  for (let at = 0; at < count; at += SAMPLES_A_MESSAGE) {
    const samples = Array.from({ length: SAMPLES_A_MESSAGE }, (_, i) => ({
      ts: fromMs + (at + i) * 1000,
      speed: 5,
      lat: 36.5 + ((i * 37) % 900) / 1e4,
      long: -121.9 + ((i * 53) % 900) / 1e4,
    }))
    const topic = `dev/${device.hardwareId}/tlm`
    client.publish({ topic, payload: JSON.stringify(samples), qos: 1, retain: false })
  }
  await mustReach(() => client.unacknowledged === 0, PAST_LIMIT_MS, 'the history was not acknowledged')
  client.goOffline('politely')
}

/** Reads the counters of the gateway before it is killed. */
class Watch {
  readonly refused = new Map<string, number>()
  mostMb = 0
  tooLarge = 0
  readonly #api: GatewayApi

  constructor(api: GatewayApi) {
    this.#api = api
  }

  /** Waits until that many budgets have refused something, which takes noisy clients longer on a slow machine. */
  async check(budgets: number): Promise<void> {
    let text = ''
    let counts: [string, number][] = []
    await waitUntil(
      async () => {
        text = await this.#api.call('GET /metrics')
        counts = [...text.matchAll(BUDGET)].map(([, budget = '', count]) => [budget, Number(count)])
        return counts.filter(([, count]) => count > 0).length >= budgets
      },
      TIMEOUT_MS,
      CHECK_GAP_MS,
    )
    for (const [budget, count] of counts)
      if (count > 0) this.refused.set(budget, (this.refused.get(budget) ?? 0) + count)
    const mb = Number(RESIDENT.exec(text)?.[1] ?? Number.NaN) / 1e6
    this.mostMb = Math.max(this.mostMb, mb)
    if (!(mb < MAX_MB)) this.tooLarge++
  }
}
