import { grouped } from '#scripts/cli/progress.ts'
import { toIso } from '#shared/time.ts'

const EXAMPLES = 3
const SHOWN_LENGTH = 40

interface DroppedHere {
  count: number
  places: number[]
  /** Value at the first position. */
  value: unknown
}

/** Result of the import, by record of the file. */
export class ImportReport {
  read = 0
  stored = { gps: 0, battery: 0 }
  duplicates = { gps: 0, battery: 0 }
  /** Usable records, sent or waiting to be sent. */
  usable = 0
  firstMs = Number.POSITIVE_INFINITY
  lastMs = Number.NEGATIVE_INFINITY
  readonly #droppedHere = new Map<string, DroppedHere>()
  readonly #droppedThere = new Map<string, number>()

  /** Counts a record of the file that was dropped before sending. */
  drop(reason: string, place: number, value?: unknown): void {
    const dropped = this.#droppedHere.get(reason) ?? { count: 0, places: [], value }
    this.#droppedHere.set(reason, dropped)
    dropped.count++
    if (dropped.places.length < EXAMPLES) dropped.places.push(place)
  }

  /** Counts records that the gateway dropped. */
  dropThere(reason: string, count: number): void {
    this.#droppedThere.set(reason, (this.#droppedThere.get(reason) ?? 0) + count)
  }

  sawTime(atMs: number): void {
    this.firstMs = Math.min(this.firstMs, atMs)
    this.lastMs = Math.max(this.lastMs, atMs)
  }

  get settled(): number {
    const { stored, duplicates } = this
    return stored.gps + stored.battery + duplicates.gps + duplicates.battery
  }

  /** Returns the lines that the import prints. */
  summary(placeName: string, elapsedS: number, isDryRun: boolean): string {
    const range = this.usable === 0 ? '' : `, ${toIso(this.firstMs)} to ${toIso(this.lastMs)}`
    const lines = [`  read           ${grouped(this.read)} records${range}`]
    if (isDryRun) lines.push(`  usable         ${grouped(this.usable)}, according to the file alone; nothing was sent`)
    else {
      lines.push(`  stored         ${byStream(this.stored)}`, `  already there  ${byStream(this.duplicates)}`)
    }
    lines.push(...this.#drops(placeName))
    const rate = elapsedS > 0 ? Math.round(this.read / elapsedS) : 0
    lines.push(`  took           ${elapsedS.toFixed(1)} s, ${grouped(rate)} records/s`)
    return `${lines.join('\n')}\n`
  }

  #drops(placeName: string): string[] {
    const here = [...this.#droppedHere].map(([reason, { count, places, value }]) => {
      const [first, ...others] = places
      const more = count > places.length ? ' …' : ''
      return (
        `  dropped        ${grouped(count)} ${reason}: ${placeName} ` +
        `${first}${shown(value)}${others.map((place) => `, ${place}`).join('')}${more}${advice(reason)}`
      )
    })
    const there = [...this.#droppedThere].map(
      ([reason, count]) => `  dropped        ${grouped(count)} ${reason}, by the gateway${advice(reason)}`,
    )
    return [...here, ...there]
  }
}

/** Shortens a value of the file, which may be anything. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  if (text.trim() === '') return ''
  const short = text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text
  return ` (${JSON.stringify(short)})`
}

function byStream({ gps, battery }: { gps: number; battery: number }): string {
  return `${grouped(gps)} gps, ${grouped(battery)} battery`
}

/** Returns advice for a reason that does not explain itself. */
function advice(reason: string): string {
  switch (reason) {
    case 'time_without_zone':
      return ' (give --utc if they are UTC)'
    case 'ambiguous_time':
      return ' (a number that is not a time in seconds or milliseconds)'
    case 'implausible_time':
      return ' (before 2020, or in the future)'
    case 'waypoint':
    case 'route_point':
      return ' (no track: only tracks are imported)'
    case 'no_fix':
      return ' (the receiver had no position then)'
    case 'invalid_speed':
      return ' (stored without it)'
    default:
      return ''
  }
}
