/** Bytes for people: `1.5 GB`. */
export function inGb(bytes: number): string {
  return `${(bytes / 1e9).toLocaleString('en-US', { maximumFractionDigits: 1 })} GB`
}
