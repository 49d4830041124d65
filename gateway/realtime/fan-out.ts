import { canSee } from '#domain/access.ts'
import { Fifo } from '#shared/budgets/fifo.ts'
import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import type { RealtimeConnection } from './connection.ts'
import { Frame } from './frames.ts'
import { findExcess } from './largest-backlog.ts'
import { Subscriptions } from './subscriptions.ts'

/** Beyond this, each new event first processes the oldest: it bounds memory, and may slow down the sender. */
const MAX_WAITING = 2_000

/** Ratio of pause to work of a fan-out: however many readers there are, most of the time is left to the devices. */
const REST = 4
/** Maximum pause, because on a machine that is busy with other work the fan-out takes long for little. */
const MAX_REST_MS = 100

interface Limits {
  /** Pause between two writes to a socket: invisible on a map, and a write costs more than everything else. */
  pauseMs: number
  /** Longest time for which the fan-out may delay messages and acknowledgements of devices. */
  sliceMs: number
  /** Limit for all connections together. */
  unreadBytes: number
}

const LIMITS: Limits = { pauseMs: 25, sliceMs: 2, unreadBytes: 67_108_864 }

/** Message about a device, with a masked form for readers that must not see codes, if it has a code. */
export interface MaskedMessage {
  message: ServerMessage
  masked?: ServerMessage | undefined
}

/** Messages for the watchers of a device in order, or only for these connections. */
interface DeviceNews {
  hardwareId: string
  messages: Iterator<MaskedMessage>
  only?: readonly RealtimeConnection[]
}

/** Builds the frame for a connection; null if it receives none. */
export type FrameBuilder = (connection: RealtimeConnection) => Frame | null

type News = DeviceNews | { frameFor: FrameBuilder }

interface FanOutDeps {
  log: Log
  /** Called with the fullest connection of the user with most unread bytes, while all together exceed their limit. */
  onExcess: (connection: RealtimeConnection) => void
  limits?: Partial<Limits>
}

/**
 * Sends messages to the watchers of devices, at almost no cost for the acknowledgements of devices. Messages are only
 * queued first; in an event-loop tick of their own they are encoded for the connections that may see them then, and
 * each socket gets all its pending frames in one write. A pause follows, so that messages in the meantime are sent
 * together; the first one after a pause is sent immediately.
 */
export class FanOut {
  readonly connections = new Set<RealtimeConnection>()
  readonly subscriptions = new Subscriptions<RealtimeConnection>()
  sentFrames = 0
  readonly #deps: FanOutDeps
  readonly #limits: Limits
  readonly #news = new Fifo<News>()
  /** Number of events whose messages are all queued. */
  #queuedEvents = 0
  /** True if events wait for which no write has begun. */
  #isDue = false
  #isAwake = false
  #timer: NodeJS.Timeout | undefined

  constructor(deps: FanOutDeps) {
    this.#deps = deps
    this.#limits = { ...LIMITS, ...deps.limits }
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.settle()
    for (const connection of this.connections) connection.flush()
  }

  /** Queues messages for the watchers of a device. `messages` is read later, or never if the device has no watchers. */
  publish(hardwareId: string, messages: Iterator<MaskedMessage>): void {
    if (this.subscriptions.isWatched(hardwareId)) this.#take({ hardwareId, messages })
  }

  /** Queues messages for these connections only, if they still see the device when the messages are processed. */
  publishTo(only: readonly RealtimeConnection[], hardwareId: string, messages: Iterator<MaskedMessage>): void {
    if (only.length > 0) this.#take({ hardwareId, messages, only })
  }

  /** Queues an event for which `frameFor` builds a frame for each connection when it is processed. */
  publishEach(frameFor: FrameBuilder): void {
    if (this.connections.size > 0) this.#take({ frameFor })
  }

  /**
   * Queues the frames of all waiting events for the connections that watch and may see the devices now. Must be called
   * before subscriptions or permissions change, and before a connection is sent a message that belongs after them.
   */
  settle(): void {
    while (this.#news.length > 0) this.#queueNext()
  }

  #take(news: News): void {
    this.#news.push(news)
    const oldest = this.#queuedEvents
    while (this.#news.length > MAX_WAITING && this.#queuedEvents === oldest) this.#queueNext()
    this.#isDue = true
    if (this.#isAwake) return
    this.#isAwake = true
    setImmediate(() => void this.#run())
  }

  async #run(): Promise<void> {
    const startedAtMs = performance.now()
    this.#isDue = false
    const workedMs = await this.#write()
    const leftMs = this.#limits.pauseMs - (performance.now() - startedAtMs)
    const restMs = Math.max(leftMs, Math.min(REST * workedMs, MAX_REST_MS))
    this.#timer = setTimeout(() => {
      if (this.#isDue) void this.#run()
      else this.#isAwake = false
    }, restMs).unref()
  }

  /** Returns the time it worked, without other work in between. */
  async #write(): Promise<number> {
    let workedMs = 0
    let sliceAtMs = performance.now()
    const endSlice = async () => {
      workedMs += performance.now() - sliceAtMs
      await new Promise(setImmediate)
      sliceAtMs = performance.now()
    }
    const isOver = () => performance.now() - sliceAtMs >= this.#limits.sliceMs
    const end = this.#queuedEvents + this.#news.length
    while (this.#queuedEvents < end) {
      this.#queueNext()
      if (isOver()) await endSlice()
    }
    for (const connection of this.connections) {
      connection.flush()
      if (isOver()) await endSlice()
    }
    this.#dropExcess()
    return workedMs + performance.now() - sliceAtMs
  }

  /** Processes the next message of the oldest event, or removes the event if it has no more. */
  #queueNext(): void {
    const news = this.#news.peek()
    if (news !== undefined && !this.#isQueued(news)) return
    this.#news.take()
    this.#queuedEvents++
  }

  #isQueued(news: News): boolean {
    try {
      return 'frameFor' in news ? this.#isQueuedForAll(news.frameFor) : this.#isQueuedForWatchers(news)
    } catch (error) {
      this.#deps.log.error({ reason: describeError(error) }, 'could not build a realtime message')
      return true
    }
  }

  #isQueuedForAll(frameFor: FrameBuilder): boolean {
    for (const connection of this.connections) {
      const frame = frameFor(connection)
      if (frame !== null) connection.enqueue(frame)
    }
    return true
  }

  #isQueuedForWatchers({ hardwareId, messages, only }: DeviceNews): boolean {
    const { value, done } = messages.next()
    if (done) return true
    const frame = new Frame(value.message, value.masked)
    if (only !== undefined) {
      for (const connection of only) if (canSee(connection.caller, hardwareId)) connection.enqueue(frame)
    } else {
      this.subscriptions.forEachWatcher(hardwareId, (connection) => {
        connection.enqueue(frame)
        this.sentFrames++
      })
    }
    return false
  }

  #dropExcess(): void {
    for (const connection of findExcess(this.connections, this.#limits.unreadBytes)) this.#deps.onExcess(connection)
  }
}
