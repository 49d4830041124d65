import { dayOf } from '#scripts/commands/simulate/course/model-day.ts'
import { zonesOf } from '#scripts/commands/simulate/course/zones.ts'
import { type FleetPlan, planFleet } from '#scripts/commands/simulate/fleet-plan.ts'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { ADMIN_KEY, type GatewayProcess } from '#scripts/rig/gateway-process.ts'
import type { Download } from '#scripts/rig/load/download-client.ts'
import { formatCount, printProgress } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { must } from '#scripts/rig/staff-course.ts'
import { HOUR_MS, systemClock, toIso } from '#shared/time.ts'
import { FilledFolder } from '../history/fill.ts'
import { samplesOfDays } from './course-days.ts'

const CENTER = { lat: 28.41, long: -81.58 }
const CARTS = 200
const SHORT_CARTS = 8
const SHORT_DAYS = 2
const WEEK_DAYS = 7
const LOADED_DEVICES = 200
const SHORT_LOADED_DEVICES = 10

/** Last month of 200 carts; made when a scenario first needs it. */
export class CourseMonth {
  readonly month: string
  readonly carts: number
  readonly #context: ScenarioContext
  readonly #plan: FleetPlan
  #folder: FilledFolder | undefined
  #loaded: BenchDevice[] = []
  #days = 0

  constructor(context: ScenarioContext) {
    this.#context = context
    this.carts = context.isShort ? SHORT_CARTS : CARTS
    this.#plan = planFleet({ seed: 1, carts: this.carts, center: CENTER, prefix: 'bench' })
    const now = new Date(systemClock.nowMs())
    this.month = toIso(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)).slice(0, 7)
  }

  /** Starts a gateway on its first week; that of the benchmark, or another. */
  startWeek(entry?: string): Promise<GatewayProcess> {
    return this.#start(WEEK_DAYS, entry)
  }

  startWhole(entry?: string): Promise<GatewayProcess> {
    return this.#start(daysIn(this.month), entry)
  }

  /** Devices other than the carts of the month, for the load. */
  get loadedDevices(): readonly BenchDevice[] {
    return this.#loaded
  }

  utilisation(gateway: GatewayProcess): Download {
    return this.#download(gateway, `/reports/utilisation?month=${this.month}`)
  }

  battery(gateway: GatewayProcess): Download {
    return this.#download(gateway, `/reports/battery?month=${this.month}`)
  }

  traffic(gateway: GatewayProcess): Download {
    return this.#download(gateway, `/reports/traffic?${this.#week()}`)
  }

  silence(gateway: GatewayProcess): Download {
    return this.#download(gateway, `/reports/silence?${this.#week()}`)
  }

  #download({ ports }: GatewayProcess, path: string): Download {
    return { path, port: ports.http, key: ADMIN_KEY }
  }

  #week(): string {
    const fromMs = Date.parse(`${this.month}-01`)
    return `from=${toIso(fromMs)}&to=${toIso(fromMs + WEEK_DAYS * 24 * HOUR_MS - 1)}`
  }

  async #start(wanted: number, entry?: string): Promise<GatewayProcess> {
    this.#folder ??= await this.#make()
    const days = this.#context.isShort ? Math.min(wanted, SHORT_DAYS) : wanted
    if (days > this.#days) await this.#fill(this.#folder, days)
    return this.#folder.start({}, entry)
  }

  async #make(): Promise<FilledFolder> {
    const { isShort } = this.#context
    const folder = await FilledFolder.create(this.#context, 'course-month')
    await folder.register(this.carts, 'cart')
    this.#loaded = await folder.register(isShort ? SHORT_LOADED_DEVICES : LOADED_DEVICES, 'loaded')
    const gateway = await folder.start()
    // sunrise and sunset as the simulator computes them
    await must(gateway, 'PATCH', '/site', { time_zone: 'Etc/GMT+5' })
    await must(gateway, 'PUT', '/zones', zonesOf(this.#plan.course, this.carts), { 'If-Match': '*' })
    await gateway.process.stop()
    return folder
  }

  async #fill(folder: FilledFolder, days: number): Promise<void> {
    const firstDay = dayOf(Date.parse(`${this.month}-01T12:00:00Z`), CENTER) + this.#days
    const more = { firstDay, days: days - this.#days }
    printProgress(`  filling ${more.days} days of ${this.carts} carts`)
    const samples = await folder.fill(samplesOfDays(this.#plan, folder.deviceIds('cart'), more))
    this.#days = days
    printProgress(`  ${formatCount(samples)} samples`)
  }
}

function daysIn(month: string): number {
  const [year, ofYear] = [Number(month.slice(0, 4)), Number(month.slice(5))]
  return new Date(Date.UTC(year, ofYear, 0)).getUTCDate()
}
