/** The disk, as its writer knows it. */
export interface DiskProbe {
  /** The time of its last answer to a write, in milliseconds of `performance.now()`. */
  readonly answeredAtMs: number
  /** `detail` is why it takes no writes; null while it does. */
  readonly health: { isUsable: boolean; detail: string | null }
  /** Writes a few bytes behind all writes that wait; rejects if it cannot. */
  probe(): Promise<void>
}
