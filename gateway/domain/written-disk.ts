/** Disk probe, implemented by the writer of the disk. */
export interface DiskProbe {
  /** Time at which the last write returned, by `performance.now()`. */
  readonly answeredAtMs: number
  /** `detail` is the reason why writes fail; null while they succeed. */
  readonly health: { isUsable: boolean; detail: string | null }
  /** Writes a few bytes after all waiting writes; rejects on failure. */
  probe(): Promise<void>
}
