/** Values along the time. */
export interface ChartLine {
  atMs: Float64Array
  values: Float32Array
}

/** A line is drawn between values that are nearer in time. */
const SILENCE_MS = 300_000

/** Seconds and values; nothing where nobody said any, and where it was silent. */
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
