/**
 * The value of a metric in the text format of Prometheus, by the name with its labels; undefined where it is not told.
 */
export function readMetric(text: string, name: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  const value = Number(line?.slice(name.length + 1))
  return Number.isFinite(value) ? value : undefined
}
