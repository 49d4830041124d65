import { SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'

const ROWS = 4096
/** Maximum number of messages of one socket read in a batch; the full parser takes the rest. */
const LONGEST_RUN = 512
const PLACES = 2

/** Numbers of the readings of many batches, one after the other, and the offsets of each reading in its bytes. */
export class RunColumns {
  readonly numbers = new Float64Array(ROWS * SAMPLE_NUMBERS)
  readonly #places = new Uint32Array(ROWS * PLACES)
  used = 0

  /** True if there is room for another batch; one that still finds no free row uses the full parser. */
  get hasRoomForRun(): boolean {
    return this.used + LONGEST_RUN <= ROWS
  }

  hasRoom(row: number): boolean {
    return row < ROWS
  }

  set(row: number, from: number, to: number): void {
    this.#places[row * PLACES] = from
    this.#places[row * PLACES + 1] = to
  }

  from(row: number): number {
    return this.#places[row * PLACES] ?? 0
  }

  to(row: number): number {
    return this.#places[row * PLACES + 1] ?? 0
  }
}
