import { AsyncLocalStorage } from 'node:async_hooks'
import { getEventListeners } from 'node:events'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { promisify } from 'node:util'
import type { Program } from './program.ts'

const require = createRequire(import.meta.url)
const timers = require('node:timers')
const timerPromises = require('node:timers/promises')
const RealDate = Date
const realSetImmediate = setImmediate
const realSetTimeout = setTimeout
const realNow = performance.now.bind(performance)

/** Time after which a wait for the host (not for virtual time) counts as one that never ends. */
const HANG_MS = 30_000
/** Entries of the heap of timers beyond twice those that wait, after which the others are forgotten. */
const SWEPT_ENTRIES = 2_000
const LONGEST_DELAY_MS = 2 ** 31 - 1

/** Program that runs at the moment; undefined in the bottle itself. */
export const running = new AsyncLocalStorage<Program>()

type Run = <Result>(call: () => Result) => Result

export class Timer {
  readonly #time: VirtualTime
  readonly program = running.getStore()
  readonly run: Run = AsyncLocalStorage.snapshot() as Run
  readonly fire: () => void
  /** The function that it was given. */
  readonly call: unknown
  readonly delayMs: number
  readonly isRepeated: boolean
  /** Where the product set it; only of an interval, because many timers are set for each message. */
  readonly origin: string
  /** Its entry in the heap; null if it does not wait. Its other entries are skipped. */
  entry: Entry | null = null

  constructor(time: VirtualTime, fire: () => void, delayMs: unknown, isRepeated: boolean, call: unknown = fire) {
    this.#time = time
    this.fire = fire
    this.call = call
    const wholeMs = Math.trunc(Number(delayMs))
    this.delayMs = wholeMs >= 1 && wholeMs <= LONGEST_DELAY_MS ? wholeMs : 1
    this.isRepeated = isRepeated
    this.origin = isRepeated ? originOf(new Error('origin').stack ?? '') : ''
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }

  refresh(): this {
    this.#time.arm(this)
    return this
  }

  close(): this {
    this.entry = null
    return this
  }

  [Symbol.dispose](): void {
    this.entry = null
  }
}

/** First line of a stack that is not of the simulation. */
function originOf(stack: string): string {
  return (
    stack
      .split('\n')
      .slice(1)
      .find((line) => !line.includes('/scripts/live/'))
      ?.trim() ?? ''
  )
}

interface Entry {
  readonly atMs: number
  readonly order: number
  readonly timer: Timer
}

/** A timer of the bottle never ends: the run was interrupted, or the host is stuck. */
class HangError extends Error {}

/**
 * Replaces every clock and timer of this process. Time moves only between timers: all work takes none. Wall clocks may
 * differ between programs, by `Program.wallOffsetMs`.
 */
export class VirtualTime {
  readonly startMs: number
  #nowMs: number
  #heap: Entry[] = []
  #heapAfterSweep = 0
  #orders = 0
  #immediates = 0
  /** Operations of the host that have not ended: loading of modules, WebAssembly. */
  readonly #hostWork = new Set<string>()
  fired = 0
  /** Called each time that nothing is left to do at a moment. */
  onSettled: (() => void) | null = null
  /** Called before each timer that fires. */
  onFire: ((timer: Timer) => void) | null = null

  constructor(startMs: number) {
    this.startMs = startMs
    this.#nowMs = startMs
  }

  get nowMs(): number {
    return this.#nowMs
  }

  /** Timers that wait, of one program. */
  waitingOf(program: Program): Timer[] {
    const waiting = this.#heap.filter((entry) => entry.timer.entry === entry && entry.timer.program === program)
    return waiting.map(({ timer }) => timer)
  }

  /** Replaces clocks and timers. Must be called before any module of the product is loaded. */
  install(): void {
    const wallMs = () => this.#nowMs + (running.getStore()?.wallOffsetMs ?? 0)
    globalThis.Date = class extends RealDate {
      constructor(...given: [] | [number]) {
        if (given.length === 0) super(wallMs())
        else super(...given)
      }
      static override now = wallMs
    } as DateConstructor
    performance.now = () => this.#nowMs - this.startMs
    const set =
      (isRepeated: boolean) =>
      (call: (...given: unknown[]) => void, delayMs?: number, ...given: unknown[]) =>
        this.#add(given.length === 0 ? () => call() : () => call(...given), delayMs, isRepeated, call)
    const clear = (timer: unknown) => {
      if (timer instanceof Timer) timer.close()
    }
    const patched = { setTimeout: set(false), setInterval: set(true), clearTimeout: clear, clearInterval: clear }
    const wait = (delayMs?: number, value?: unknown, options?: { signal?: AbortSignal }) =>
      abortable(options?.signal, (resolve) => {
        const timer = this.#add(() => resolve(value), delayMs, false)
        return () => timer.close()
      })
    Object.assign(patched.setTimeout, { [promisify.custom]: wait })
    const immediate = (call: (...given: unknown[]) => void, ...given: unknown[]) =>
      this.#immediate(() => call(...given))
    const nextTurn = (value?: unknown, options?: { signal?: AbortSignal }) =>
      abortable(options?.signal, (resolve) => {
        const handle = immediate(() => resolve(value))
        return () => handle.cancel()
      })
    Object.assign(immediate, { [promisify.custom]: nextTurn })
    const clearTurn = (handle: Turn | undefined) => handle?.cancel()
    const all = { ...patched, setImmediate: immediate, clearImmediate: clearTurn }
    Object.assign(globalThis, all)
    Object.assign(timers, all)
    Object.assign(timerPromises, { setTimeout: wait, setImmediate: nextTurn })
    AbortSignal.timeout = (delayMs) => {
      const controller = new AbortController()
      setTimeout(() => controller.abort(new DOMException('The operation timed out', 'TimeoutError')), delayMs)
      return controller.signal
    }
    AbortSignal.any = releasedOnDeath(AbortSignal.any)
    syncBuiltinESMExports()
  }

  /** Calls `deliver` in the next turn, in the async context of `run`, unless its program has died. */
  post(run: Run, deliver: () => void): void {
    run(() => this.#immediate(deliver))
  }

  /** Holds time still until `work` of the host has ended. */
  async holding<Result>(name: string, work: Promise<Result>): Promise<Result> {
    this.#hostWork.add(name)
    try {
      return await work
    } finally {
      this.#hostWork.delete(name)
    }
  }

  /** Runs until nothing is left to do at `atMs`, or `isOver`. Time never goes back: a time that has passed is now. */
  async runUntil(atMs: number, isOver: () => boolean = () => false): Promise<void> {
    for (;;) {
      await this.settle()
      if (isOver()) return
      const timer = this.#next(atMs)
      if (timer === undefined) break
      this.fired += 1
      this.onFire?.(timer)
      timer.run(timer.fire)
    }
    this.#nowMs = Math.max(this.#nowMs, atMs)
  }

  /** Lets time pass until `promise` has settled; throws if it has not after `limitMs`. */
  async until<Result>(what: string, promise: Promise<Result>, limitMs = 600_000): Promise<Result> {
    let isOver = false
    const over = () => {
      isOver = true
    }
    promise.then(over, over)
    const untilMs = this.#nowMs + limitMs
    await this.runUntil(untilMs, () => isOver)
    if (!isOver) throw new HangError(`${what} did not end within ${limitMs / 1000} s`)
    return promise
  }

  /** Resolves when nothing is left to do at this moment. */
  async settle(): Promise<void> {
    let sinceMs = 0
    for (let turn = 0; ; turn++) {
      await new Promise<void>((resolve) => realSetImmediate(resolve))
      if (this.#immediates === 0 && this.#hostWork.size === 0) {
        this.onSettled?.()
        return
      }
      if (this.#hostWork.size > 0) await new Promise<void>((resolve) => realSetTimeout(resolve, 1))
      if (turn % 1000 !== 999) continue
      sinceMs ||= realNow()
      if (realNow() - sinceMs > HANG_MS) {
        const waiting = [...this.#hostWork].join(', ') || `${this.#immediates} immediates that repeat`
        throw new HangError(`nothing settles: ${waiting}`)
      }
    }
  }

  arm(timer: Timer): void {
    timer.entry = { atMs: this.#nowMs + timer.delayMs, order: this.#orders++, timer }
    push(this.#heap, timer.entry)
    if (this.#heap.length > 2 * this.#heapAfterSweep + SWEPT_ENTRIES) this.sweep()
  }

  /** Forgets timers that never fire, of dead programs or closed: each would keep its program in memory until then. */
  sweep(): void {
    const left = this.#heap.filter((entry) => entry.timer.entry === entry && entry.timer.program?.isAlive !== false)
    this.#heapAfterSweep = left.length
    // a sorted list is a heap
    this.#heap = left.sort(byTime)
  }

  #add(fire: () => void, delayMs: unknown, isRepeated: boolean, call?: unknown): Timer {
    const timer = new Timer(this, fire, delayMs, isRepeated, call)
    this.arm(timer)
    return timer
  }

  #next(atMs: number): Timer | undefined {
    for (;;) {
      const [entry] = this.#heap
      if (entry === undefined || entry.atMs > atMs) return undefined
      pop(this.#heap)
      const { timer } = entry
      if (timer.entry !== entry || timer.program?.isAlive === false) continue
      timer.entry = null
      this.#nowMs = entry.atMs
      if (timer.isRepeated) this.arm(timer)
      return timer
    }
  }

  #immediate(call: () => void): Turn {
    const program = running.getStore()
    this.#immediates += 1
    const turn: Turn = {
      isPending: true,
      cancel: () => {
        if (turn.isPending) this.#immediates -= 1
        turn.isPending = false
      },
      ref: () => turn,
      unref: () => turn,
      hasRef: () => true,
    }
    realSetImmediate(() => {
      if (!turn.isPending) return
      turn.cancel()
      if (program?.isAlive === false) return
      // it may kill the program
      program?.onTurn?.()
      if (program === undefined || isAlive(program)) call()
    })
    return turn
  }
}

interface Turn {
  isPending: boolean
  cancel(): void
  ref(): Turn
  unref(): Turn
  hasRef(): boolean
}

function isAlive(program: Program): boolean {
  return program.isAlive
}

/** Lets go of the signals of a program that dies: while anything listens to one, Node keeps it. */
function releasedOnDeath(any: typeof AbortSignal.any): typeof AbortSignal.any {
  const collected = new FinalizationRegistry<() => void>((forget) => forget())
  return (signals) => {
    const signal = any(signals)
    const held = new WeakRef(signal)
    const forget = running.getStore()?.onDeath(() => {
      const one = held.deref()
      if (one === undefined) return
      for (const listener of getEventListeners(one, 'abort')) one.removeEventListener('abort', listener as () => void)
    })
    if (forget !== undefined) collected.register(signal, forget)
    return signal
  }
}

function abortable(signal: AbortSignal | undefined, start: (resolve: (value: unknown) => void) => () => void) {
  return new Promise((resolve, reject) => {
    const abort = () => {
      cancel()
      reject(
        Object.assign(new Error('The operation was aborted', { cause: signal?.reason }), {
          name: 'AbortError',
          code: 'ABORT_ERR',
        }),
      )
    }
    const cancel = start((value) => {
      signal?.removeEventListener('abort', abort)
      resolve(value)
    })
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

function byTime(one: Entry, other: Entry): number {
  return one.atMs - other.atMs || one.order - other.order
}

function push(heap: Entry[], entry: Entry): void {
  let at = heap.length
  while (at > 0) {
    const parent = (at - 1) >> 1
    const above = heap[parent] as Entry
    if (byTime(above, entry) <= 0) break
    heap[at] = above
    at = parent
  }
  heap[at] = entry
}

function pop(heap: Entry[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && byTime(heap[child + 1] as Entry, heap[child] as Entry) < 0) child += 1
    if (byTime(last, heap[child] as Entry) <= 0) break
    heap[at] = heap[child] as Entry
    at = child
  }
  heap[at] = last
}
