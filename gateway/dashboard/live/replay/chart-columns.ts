/** Values over time. */
export interface ChartLine {
  atMs: Float64Array
  values: Float32Array
}

/** Maximum time between two values that a line connects. */
const SILENCE_MS = 300_000

/** Returns seconds and values; null for a missing value and within a signal loss. */
export function columnsOf({ atMs, values }: ChartLine): [number[], (number | null)[]] {
  const [xs, ys]: [number[], (number | null)[]] = [[], []]
  let lastMs = Number.POSITIVE_INFINITY
  for (const [i, now] of atMs.entries()) {
    if (now - lastMs > SILENCE_MS) {
      xs.push((lastMs + 1) / 1000)
      ys.push(null)
    }
    lastMs = now
    const value = values[i] ?? Number.NaN
    xs.push(now / 1000)
    ys.push(Number.isNaN(value) ? null : value)
  }
  return [xs, ys]
}
