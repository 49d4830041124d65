import { SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'

const ROWS = 4096
/** Messages in one read of a socket, at most; more go the slow way. */
const LONGEST_RUN = 512
const PLACES = 2

/** The numbers of the readings of many runs, one run behind the other, and where each reading lies in its bytes. */
export class RunColumns {
  readonly numbers = new Float64Array(ROWS * SAMPLE_NUMBERS)
  readonly #places = new Uint32Array(ROWS * PLACES)
  used = 0

  /** Whether there is room for another run; a run that finds its row missing all the same goes the slow way. */
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
