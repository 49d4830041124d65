import { readdirSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Bottle, Check, Finding } from '../bottle.ts'
import { NIGHT_MINUTE, toLocal } from '../model/local-time.ts'
import { threads } from '../world/threads.ts'

/** Nights in which caches fill; the next one is compared with all after it. */
const WARM_NIGHTS = 2
const SHARE = 0.05
/** Differences of nights, such as a database that has just grown a page cache or a reader that ends soon. */
const SPARE_MB = 3
const SPARE_FILES = 6
/** Lists of the model grow for some nights until they have the lengths that are kept; then they are compared again. */
const MODEL_MB_A_CART = 1 / 6
const MODEL_NIGHTS = 7
const SPARE_THREADS = 2

let collect: (() => void) | undefined

interface Use {
  readonly heapMb: number
  readonly files: number
  readonly threads: number
}

/** Measures what the process holds after a forced collection. */
function measure(): Use {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc')
  }
  // the second one frees objects that the first one finalizes
  collect?.()
  collect?.()
  const { heapUsed } = process.memoryUsage()
  return { heapMb: heapUsed / 1e6, files: readdirSync('/proc/self/fd').length, threads: threads.size }
}

/** Check that memory, open files and threads are as they were after the first nights. */
export class Resources implements Check {
  readonly number = 49
  readonly claim = 'heap, open files and threads are those of the third night'
  readonly when = 'night'
  #nights = 0
  #before: Use | undefined

  find({ life, time, carts }: Bottle): Finding[] {
    if (toLocal(time.nowMs).minute !== NIGHT_MINUTE) return []
    this.#nights += 1
    if (!life.isRunning || this.#nights <= WARM_NIGHTS) return []
    const now = measure()
    this.#before ??= now
    if (this.#nights === WARM_NIGHTS + MODEL_NIGHTS) this.#before = now
    const { heapMb, files, threads: count } = this.#before
    const modelMb =
      this.#nights < WARM_NIGHTS + MODEL_NIGHTS ? MODEL_MB_A_CART * carts.length * (this.#nights - WARM_NIGHTS - 1) : 0
    const most = {
      heapMb: heapMb * (1 + SHARE) + SPARE_MB + modelMb,
      files: files + SPARE_FILES,
      threads: count + SPARE_THREADS,
    }
    return (['heapMb', 'files', 'threads'] as const)
      .filter((key) => now[key] > most[key])
      .map((key) => ({ is: `${key} ${Math.round(now[key])}`, expected: `at most ${Math.round(most[key])}` }))
  }
}
