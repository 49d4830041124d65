const DAY_MS = 86_400_000

/** Count and sum of the records of a day; the order in which they came does not matter. */
interface DaySum {
  count: number
  sum: number
}

/** Sums of the records of a device by UTC day. */
export class DaySums {
  total = 0
  readonly #days = new Map<number, DaySum>()

  add(atMs: number, ...values: readonly unknown[]): void {
    const day = Math.floor(atMs / DAY_MS)
    const known = this.#days.get(day) ?? { count: 0, sum: 0 }
    known.count += 1
    this.total += 1
    known.sum = (known.sum + hash([atMs, ...values].join())) >>> 0
    this.#days.set(day, known)
  }

  of(day: number): string {
    const { count, sum } = this.#days.get(day) ?? { count: 0, sum: 0 }
    return `${count} records with sum ${sum}`
  }
}

/** FNV-1a of a text, mixed so that sums of many of them differ. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  return (value ^ (value >>> 13)) >>> 0
}
