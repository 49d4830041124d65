import { BATTERY, GPS } from '#shared/telemetry/records.ts'
import { encodeRuns, type TelemetryRun } from '#shared/telemetry/runs.ts'
import type { SiteLook } from './carts.ts'

/** A piece of the log, ready to be pushed. */
export interface LogPart {
  readonly to: number
  /** GPS records and battery records. */
  readonly rows: number
  readonly data: Uint8Array
  /** When its samples were measured; as many each time as there are devices. */
  readonly atMs: readonly number[]
}

/** A gateway keeps them on its disk; this one forgets what is older, and says how much. */
const KEPT_LOOKS = 900

/** The samples of a site that its hub does not have yet. Each has a position; those of one time follow one another. */
export class SiteLog {
  readonly #hardwareIds: readonly string[]
  #looks: { readonly look: SiteLook; readonly lastSeq: number }[] = []
  #end = 0
  #forgottenRows = 0

  constructor(hardwareIds: readonly string[]) {
    this.#hardwareIds = hardwareIds
  }

  /** The last position ever given. */
  get end(): number {
    return this.#end
  }

  get rows(): number {
    return this.#looks.length * this.#rowsOfLook
  }

  get forgottenRows(): number {
    return this.#forgottenRows
  }

  get oldestMs(): number | null {
    return this.#looks[0]?.look.atMs ?? null
  }

  add(look: SiteLook): void {
    this.#end += this.#hardwareIds.length
    this.#looks.push({ look, lastSeq: this.#end })
    if (this.#looks.length > KEPT_LOOKS) {
      this.#looks.shift()
      this.#forgottenRows += this.#rowsOfLook
    }
  }

  /** The oldest samples, of one time at least; null if there are none. */
  part(maxRows: number): LogPart | null {
    const count = Math.max(1, Math.floor(maxRows / this.#rowsOfLook))
    const looks = this.#looks.slice(0, count)
    const last = looks.at(-1)
    if (last === undefined) return null
    return {
      to: last.lastSeq,
      rows: looks.length * this.#rowsOfLook,
      data: encodeRuns(
        this.#hardwareIds.flatMap((id, i) =>
          runsOf(
            id,
            i,
            looks.map(({ look }) => look),
          ),
        ),
      ),
      atMs: looks.map(({ look }) => look.atMs),
    }
  }

  /** The hub has everything up to there. */
  forget(through: number): void {
    this.#looks = this.#looks.filter(({ lastSeq }) => lastSeq > through)
  }

  get #rowsOfLook(): number {
    return this.#hardwareIds.length * 2
  }
}

function runsOf(hardwareId: string, device: number, looks: readonly SiteLook[]): TelemetryRun[] {
  const gps = GPS.allocate(looks.length)
  const battery = BATTERY.allocate(looks.length)
  for (const [i, look] of looks.entries()) {
    gps.atMs[i] = look.atMs
    gps.latE7[i] = look.latE7[device] ?? 0
    gps.longE7[i] = look.longE7[device] ?? 0
    gps.speedMilliKmh[i] = look.speedMilliKmh[device] ?? 0
    battery.voltageMv[i] = look.voltageMv[device] ?? 0
  }
  battery.atMs.set(gps.atMs)
  return [
    { hardwareId, stream: 'gps', records: gps },
    { hardwareId, stream: 'battery', records: battery },
  ]
}
