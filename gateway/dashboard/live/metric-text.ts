/** Reads the value of a metric from the Prometheus text format, by its name with labels; undefined if it is missing. */
export function readMetric(text: string, name: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  const value = Number(line?.slice(name.length + 1))
  return Number.isFinite(value) ? value : undefined
}
