import type { Duplex } from 'node:stream'
import { Fifo } from '#shared/budgets/fifo.ts'
import { readStreamWith } from './aedes-internals.ts'

/** How long sockets may be read in one turn of the event loop before the rest waits for the next. */
const TURN_MS = 1
/** A client that is not read cannot ping either, so this stays below the shortest keepalive. */
const HOLD_MAX_MS = 5_000
/** What is read of a stream that is held for longer, now and then: enough for a ping, a subscription or an answer. */
const TRICKLE_BYTES = 512
/**
 * Most that is taken from a socket at a time: about a turn's worth of small messages. Aedes handles all it was given
 * before another connection gets a turn, and asks for more only when all of it is acknowledged, so this bounds both
 * how long
 * the others wait and how many messages of one client stand before theirs in the queue for the disk.
 */
const PORTION_BYTES = 8192

/**
 * Decides whose bytes are read next. All connections share one budget a turn, first come first served, so a flood on
 * some of them neither delays the others nor the rest of the program by more than a turn; and while the disk is behind,
 * nothing is read at all: buffers fill, TCP stops the senders, and memory stays bounded.
 */
export class ReadGate {
  readonly #isBlocked: () => boolean
  readonly #waiting = new Fifo<Duplex>()
  readonly #isWaiting = new Set<Duplex>()
  /** Streams that have used up their allowance. */
  readonly #isHeld = new Set<Duplex>()
  /** Streams that have been held for long and get a little all the same. */
  readonly #isTrickling = new WeakSet<Duplex>()
  #turnEndsAtMs = 0
  #isScheduled = false
  #isDraining = false
  /** Whose turn it is: its read is granted even if the time has run out since it was called. */
  #called: Duplex | undefined

  constructor(isBlocked: () => boolean) {
    this.#isBlocked = isBlocked
  }

  /**
   * Puts a stream that is read on `readable` events under the gate. `waitMs` tells for how long it is not to be read
   * because it sent too much: nothing is lost, its sender waits. It is asked once for each such pause; between long
   * ones a little is read, so that the connection lives.
   */
  guard(stream: Duplex, waitMs: () => number = () => 0): void {
    readStreamWith(stream, (read) => {
      const isTrickling = this.#isTrickling.has(stream)
      if (!isTrickling && this.#hold(stream, waitMs)) return null
      if (!this.#mayRead(stream)) {
        this.#defer(stream)
        return null
      }
      this.#isTrickling.delete(stream)
      return this.#readPortion(stream, read, isTrickling ? TRICKLE_BYTES : PORTION_BYTES)
    })
  }

  /** The disk has caught up. */
  open(): void {
    this.#schedule()
  }

  get waitingConnections(): number {
    return this.#waiting.length
  }

  #hold(stream: Duplex, askWaitMs: () => number): boolean {
    if (this.#isHeld.has(stream)) return true
    const waitMs = askWaitMs()
    if (waitMs <= 0) return false
    this.#isHeld.add(stream)
    const timer = setTimeout(
      () => {
        this.#isHeld.delete(stream)
        if (waitMs > HOLD_MAX_MS) this.#isTrickling.add(stream)
        if (!stream.destroyed) stream.emit('readable')
      },
      Math.min(waitMs, HOLD_MAX_MS),
    )
    timer.unref()
    return true
  }

  #readPortion(stream: Duplex, read: (size?: number) => unknown, bytes: number): unknown {
    if (stream.readableLength <= bytes) return read()
    const portion: unknown = read(bytes)
    // it may hold no whole packet, and then Aedes would wait for an event that has passed
    this.#defer(stream)
    return portion
  }

  #mayRead(stream: Duplex): boolean {
    if (this.#isBlocked()) return false
    if (stream === this.#called) {
      this.#called = undefined
      return true
    }
    // also because Aedes asks for more in the middle of a packet, where its parser cannot take any
    if (this.#isWaiting.has(stream)) return false
    const nowMs = performance.now()
    if (this.#isDraining) return nowMs < this.#turnEndsAtMs
    if (this.#waiting.length > 0) return false
    if (!this.#isScheduled) {
      this.#turnEndsAtMs = nowMs + TURN_MS
      this.#schedule()
    }
    return nowMs < this.#turnEndsAtMs
  }

  #defer(stream: Duplex): void {
    if (this.#isWaiting.has(stream)) return
    this.#isWaiting.add(stream)
    this.#waiting.push(stream)
    if (!this.#isBlocked()) this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#drain()
    })
  }

  #drain(): void {
    this.#turnEndsAtMs = performance.now() + TURN_MS
    this.#isDraining = true
    for (let turns = this.#waiting.length; turns > 0 && !this.#isBlocked(); turns--) {
      if (performance.now() >= this.#turnEndsAtMs) break
      const stream = this.#waiting.take()
      if (stream === undefined) break
      this.#isWaiting.delete(stream)
      this.#called = stream
      if (!stream.destroyed) stream.emit('readable')
    }
    this.#called = undefined
    this.#isDraining = false
    if (this.#waiting.length > 0 && !this.#isBlocked()) this.#schedule()
  }
}
