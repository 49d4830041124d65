import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchDevice, GatewayApi } from '#scripts/rig/gateway-api.ts'
import { ADMIN_KEY, type GatewayProcess, LIMITED, startGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import {
  type AttackedCourse,
  NEIGHBOURS,
  type Neighbour,
  type Person,
  SHORT_NEIGHBOURS,
} from '#scripts/rig/neighbours/attacks.ts'
import { startNeighbour } from '#scripts/rig/neighbours/process.ts'
import {
  atLeast,
  below,
  type Figure,
  formatCount,
  noneOf,
  printProgress,
  printTable,
  withoutTarget,
} from '#scripts/rig/report.ts'
import { SessionClient } from '#scripts/rig/session-client.ts'
import { mustReach, waitUntil } from '#scripts/rig/wait-until.ts'
import { ApiClient } from '#shared/client.ts'
import { startTimesMs } from '../death.ts'
import { findDamage } from '../disk/integrity.ts'
import { createDataFolder } from '../disk/recorded-folder.ts'
import { fleetFigures } from '../fleet-figures.ts'
import { type FleetCheck, FleetLoad } from '../fleet-load.ts'
import { MortalGateway } from '../mortal-gateway.ts'
import type { TortureContext, TortureScenario } from '../scenario.ts'
import { Regulars, type RegularsResult, TIMEOUT_MS } from './regulars.ts'

const FULL = { kills: 40, killsOfGroup: 4, atOnce: 3, underAttackMs: 4000, pastSamples: 50_000 }
/** Sizes of the short form, with the most expensive noisy client of each port. */
const SHORT = { kills: 2, killsOfGroup: 2, atOnce: 4, underAttackMs: 1500, pastSamples: 2000 }
const FLEET = { devices: 100, perDevicePerS: 2, lockDevices: 5 }
const SHORT_FLEET = { devices: 20, perDevicePerS: 2, lockDevices: 2 }
const GOOD_KEYS = 6
const SAMPLES_A_MESSAGE = 500
const CHECK_GAP_MS = 500
const PAST_LIMIT_MS = 60_000
/** Memory limit of a gateway with two cores; without noisy clients it needs a fifth. */
const MAX_MB = 1024
const BUDGETS = { full: 6, short: 2 }
const BUDGET = /^cartbarn_budget_refused_total\{budget="(\w+)"\} (\d+)/gm
const RESIDENT = /^process_resident_memory_bytes (\S+)/m

interface Outcome {
  kills: number
  /** Number of refusals by budget, in the lives that were queried. */
  refused: Record<string, number>
  mostMb: number
  startsMs: number[]
  damage: string[]
  regulars: RegularsResult
  load: LoadResult
  check: FleetCheck
}

/** Careless and hostile clients, at a gateway that is killed under their load. */
export const neighbours: TortureScenario = {
  name: 'neighbours',
  summary:
    'careless and hostile clients, several kinds together, while the gateway is killed; no other client may ' +
    'lose anything',
  run: async (context) => {
    const outcome = await torture(context)
    print(outcome)
    return { figures: createFigures(outcome, context.isShort), raw: outcome }
  },
}

async function torture(context: TortureContext): Promise<Outcome> {
  const { bench, entry, isShort, cycles } = context
  const sizes = isShort ? SHORT : FULL
  const kills = cycles ?? sizes.kills
  const dataDir = createDataFolder(bench, 'neighbours')
  const first = await startGateway(bench, { entry, dataDir })
  const fleet = await FleetLoad.start(bench, first, isShort ? SHORT_FLEET : FLEET)
  const { course, regular, keys } = await furnish(first, sizes.pastSamples)
  const watch = new Watch(first.ports.http)
  const gateway = new MortalGateway(
    context,
    first.ports,
    async () => {
      await fleet.connected()
      await sleep(sizes.underAttackMs)
      await watch.check(isShort ? BUDGETS.short : 1)
    },
    LIMITED,
  )
  const regulars = new Regulars(first.ports, regular)
  regulars.start([ADMIN_KEY, ...keys])
  await first.process.stop('SIGKILL')
  for (let done = 0; done < kills; done += sizes.killsOfGroup) {
    const group = groupOf(isShort, done / sizes.killsOfGroup, sizes.atOnce)
    const running = group.map((neighbour) => {
      const process = startNeighbour(bench)
      process.post('start', neighbour.plan(course, first.ports, isShort))
      return process
    })
    const left = Math.min(sizes.killsOfGroup, kills - done)
    // one of each group dies with all its noisy clients at work
    for (let n = 0; n < left; n++) await gateway.kill(dataDir, n === 0 ? 'under load' : undefined)
    await Promise.all(running.map((process) => process.stop()))
    printProgress(`  ${done + left} of ${kills} kills, with ${group.map(({ name }) => name).join(', ')}`)
  }
  const damage = findDamage(bench, dataDir)
  // the noisy clients are gone; acknowledged records are searched for as fast as the gateway can
  const last = await untilListening(gateway.spawn({ dataDir, env: { CARTBARN_REQUESTS_PER_SECOND: '0' } }))
  await fleet.connected()
  const asked = await regulars.stop()
  const { check, load } = await fleet.finish(last)
  await last.process.stop()
  const { refused, mostMb } = watch
  const startsMs = startTimesMs(gateway.lives)
  return {
    kills,
    refused: Object.fromEntries(refused),
    mostMb,
    startsMs,
    damage,
    regulars: asked,
    load,
    check,
  }
}

/** Rotates through all kinds, in changing combinations. */
function groupOf(isShort: boolean, turn: number, atOnce: number): Neighbour[] {
  if (isShort) return NEIGHBOURS.filter(({ name }) => SHORT_NEIGHBOURS.includes(name))
  const from = turn * atOnce + Math.floor((turn * atOnce) / NEIGHBOURS.length)
  return Array.from({ length: atOnce }, (_, i) => NEIGHBOURS[(from + i) % NEIGHBOURS.length]).filter(
    (neighbour) => neighbour !== undefined,
  )
}

interface Furnished {
  course: AttackedCourse
  /** Cart of the regular clients. */
  regular: BenchDevice
  keys: string[]
}

async function furnish({ api, ports }: GatewayProcess, pastSamples: number): Promise<Furnished> {
  const [rogue, seen, regular] = await api.registerDevices(3, 'course')
  if (rogue === undefined || seen === undefined || regular === undefined) throw new Error('no devices')
  const person = async (name: string, hardwareIds: string[]): Promise<Person> => ({
    ...(await api.createUser(name, hardwareIds)),
    hardwareIds,
  })
  const all = await api.hardwareIds()
  await sendPast(seen, ports.mqtt, pastSamples)
  return {
    course: {
      rogue,
      lockEvents: 10_000,
      viewer: await person('viewer', [seen.hardwareId]),
      unrelated: await person('nobody', []),
      captain: await person('captain', all.slice(0, 200)),
      longHistoryPath: `/devices/${seen.hardwareId}/gps?from=2026-01-01T00:00:00Z&to=2099-01-01T00:00:00Z`,
    },
    regular,
    keys: await keysOf(api, all),
  }
}

async function keysOf(api: GatewayApi, hardwareIds: string[]): Promise<string[]> {
  const keys: string[] = []
  for (let i = 0; i < GOOD_KEYS; i++)
    keys.push((await api.createUser(`tablet ${i}`, hardwareIds.slice(0, 50))).password)
  return keys
}

/** Sends a history to download, as a cart does after an absence. */
async function sendPast({ hardwareId, password }: BenchDevice, port: number, count: number): Promise<void> {
  const login = { clientId: hardwareId, username: hardwareId, password }
  const client = new SessionClient({ port, ...login, isPersistent: false })
  client.goOnline()
  const fromMs = Date.now() - count * 1000
  for (let at = 0; at < count; at += SAMPLES_A_MESSAGE) {
    const samples = Array.from({ length: SAMPLES_A_MESSAGE }, (_, i) => ({
      ts: fromMs + (at + i) * 1000,
      speed: 5,
      lat: 36.5 + ((i * 37) % 900) / 1e4,
      long: -121.9 + ((i * 53) % 900) / 1e4,
    }))
    client.publish({
      topic: `dev/${hardwareId}/tlm`,
      payload: JSON.stringify(samples),
      qos: 1,
      retain: false,
    })
  }
  await mustReach(() => client.unacknowledged === 0, PAST_LIMIT_MS, 'the history was not acknowledged')
  client.goOffline('politely')
}

/** Reads the counters of the gateway before it is killed. */
class Watch {
  readonly refused = new Map<string, number>()
  mostMb = 0
  readonly #client: ApiClient

  constructor(port: number) {
    this.#client = new ApiClient({ url: `http://127.0.0.1:${port}`, apiKey: ADMIN_KEY })
  }

  /** Waits until that many budgets have refused something, which takes noisy clients longer on a slow machine. */
  async check(budgets: number): Promise<void> {
    let text = ''
    let counts: [string, number][] = []
    await waitUntil(
      async () => {
        text = await this.#client.call('GET /metrics')
        counts = [...text.matchAll(BUDGET)].map(([, budget = '', count]) => [budget, Number(count)])
        return counts.filter(([, count]) => count > 0).length >= budgets
      },
      TIMEOUT_MS,
      CHECK_GAP_MS,
    )
    for (const [budget, count] of counts)
      if (count > 0) this.refused.set(budget, (this.refused.get(budget) ?? 0) + count)
    this.mostMb = Math.max(this.mostMb, Number(RESIDENT.exec(text)?.[1] ?? Number.NaN) / 1e6)
  }
}

function print({ kills, regulars, refused }: Outcome): void {
  printTable(
    `Neighbours: ${kills} times kill -9 under their load`,
    ['refused', ''],
    Object.entries(refused).map(([budget, count]) => [budget, formatCount(count)]),
  )
  for (const example of regulars.examples) printProgress(`  ${example}`)
}

function createFigures(
  { refused, mostMb, startsMs, damage, regulars, load, check }: Outcome,
  isShort: boolean,
): Figure[] {
  const { answered, longestAnswerMs, longestAcknowledgementMs } = regulars
  const patienceS = TIMEOUT_MS / 1000
  const budgets = Object.keys(refused).length
  return [
    ...fleetFigures('neighbours', check),
    noneOf('neighbours: never acknowledged', load.sent - load.acknowledged + regulars.unacknowledged),
    noneOf(`neighbours: good keys refused, of ${formatCount(answered)} requests`, regulars.refused),
    noneOf(`neighbours: requests of others without a response after ${patienceS} s`, regulars.unanswered),
    atLeast('neighbours: budgets that refused them', budgets, isShort ? BUDGETS.short : BUDGETS.full),
    below('neighbours: most memory of the gateway', mostMb, MAX_MB, { unit: ' MB' }),
    noneOf('neighbours: damage found by integrity_check', damage.length),
    withoutTarget('neighbours: listening again, longest', `${formatCount(Math.max(0, ...startsMs))} ms`),
    withoutTarget('neighbours: longest response to others', `${formatCount(longestAnswerMs)} ms`),
    withoutTarget('neighbours: longest until a PUBACK, starts included', `${formatCount(longestAcknowledgementMs)} ms`),
  ]
}
