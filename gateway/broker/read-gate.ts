import type { Duplex } from 'node:stream'
import { Fifo } from '#shared/budgets/fifo.ts'
import { readStreamWith } from './aedes-internals.ts'

/** Time for reading sockets in one event-loop tick; the rest waits for the next. */
const TURN_MS = 1
/** Maximum pause of a stream. It is shorter than the shortest keepalive, because a paused client cannot ping either. */
const HOLD_MAX_MS = 5_000
/** Bytes read between long pauses of a stream: enough for a ping, a subscription or an acknowledgement. */
const TRICKLE_BYTES = 512
/**
 * Maximum bytes of one read from a socket: about an event-loop tick of small messages. Aedes handles all of them before
 * it serves another connection, and reads more only when all are acknowledged. This bounds both the delay of other
 * clients, and the number of messages of one client that precede theirs in the queue for the disk.
 */
const PORTION_BYTES = 8192

/**
 * Decides which connection is read next. All connections share one budget for each event-loop tick, first come first
 * served, so a flood on some of them delays the others and the rest of the program by at most a tick. While the disk is
 * behind, nothing is read: buffers fill, TCP stops the senders, and memory stays bounded.
 */
export class ReadGate {
  readonly #isBlocked: () => boolean
  readonly #waiting = new Fifo<Duplex>()
  readonly #isWaiting = new Set<Duplex>()
  /** Streams that have exceeded their budget. */
  readonly #isHeld = new Set<Duplex>()
  /** Streams that may be read a little after a long pause. */
  readonly #isTrickling = new WeakSet<Duplex>()
  #turnEndsAtMs = 0
  #isScheduled = false
  #isDraining = false
  /** Stream being called: its read is granted even if the time of the tick has ended since. */
  #called: Duplex | undefined

  constructor(isBlocked: () => boolean) {
    this.#isBlocked = isBlocked
  }

  /**
   * Puts a stream that is read on `readable` events under the gate. `waitMs` returns the time for which it must not be
   * read because its client sent too much: nothing is lost, the client waits. It is called once for each such pause;
   * between long ones a little is read, so that the connection stays alive.
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

  /** Resumes reading after the disk has caught up. */
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
    // the portion may hold no complete packet, and then Aedes would wait for an event that has passed
    this.#defer(stream)
    return portion
  }

  #mayRead(stream: Duplex): boolean {
    if (this.#isBlocked()) return false
    if (stream === this.#called) {
      this.#called = undefined
      return true
    }
    // also because Aedes reads more in the middle of a packet, where its parser cannot accept any
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
