import { canSee } from '#domain/access.ts'
import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import type { RealtimeConnection } from './connection.ts'
import { Frame } from './frames.ts'
import { findExcess } from './largest-backlog.ts'
import { Subscriptions } from './subscriptions.ts'

/** Beyond this one is told for each that comes: memory has an end, and who causes it may be slowed down then. */
const MAX_WAITING = 2_000

/** How much longer than it works a fan-out rests: however many readers there are, most of the time is the devices'. */
const REST = 4
/** But not longer than this: on a machine that is busy with others it works long for little. */
const MAX_REST_MS = 100

interface Limits {
  /** Between two writes to a socket: nobody sees it on a map, and a write costs more than all else. */
  pauseMs: number
  /** How long the readers may keep messages and acknowledgements of devices waiting. */
  sliceMs: number
  /** Of all connections together. */
  unreadBytes: number
}

const LIMITS: Limits = { pauseMs: 25, sliceMs: 2, unreadBytes: 67_108_864 }

/** A message about a device, and what those are told who do not see codes, where there is a code. */
export interface MaskedMessage {
  message: ServerMessage
  masked?: ServerMessage | undefined
}

/** What the watchers of a device are told, one after the other, or only these connections. */
interface DeviceNews {
  hardwareId: string
  tellings: Iterator<MaskedMessage>
  only?: readonly RealtimeConnection[]
}

/** What a connection is told of something; null for nothing. */
export type FrameBuilder = (connection: RealtimeConnection) => Frame | null

type News = DeviceNews | { frameFor: FrameBuilder }

interface FanOutDeps {
  log: Log
  /** The connection is the fullest of the owner who leaves most unread, and all together leave more than they may. */
  onExcess: (connection: RealtimeConnection) => void
  limits?: Partial<Limits>
}

/**
 * Tells watchers of devices, and costs who waits for an acknowledgement next to nothing. What is told is only put down;
 * in a turn of its own it is made into frames and given to those who may see it then, and each socket gets all that is
 * due in one write. After that is a pause, so that what comes meanwhile goes together; the first after a pause goes at
 * once.
 */
export class FanOut {
  readonly connections = new Set<RealtimeConnection>()
  readonly subscriptions = new Subscriptions<RealtimeConnection>()
  sentFrames = 0
  readonly #deps: FanOutDeps
  readonly #limits: Limits
  readonly #news: News[] = []
  /** How many news have been told to the end. */
  #told = 0
  /** Something is due that no write was begun for. */
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

  /** `tellings` is asked for what it holds when its turn comes, or never if nobody watches the device. */
  publish(hardwareId: string, tellings: Iterator<MaskedMessage>): void {
    if (this.subscriptions.isWatched(hardwareId)) this.#take({ hardwareId, tellings })
  }

  /** Tells these connections, as far as they still see the device then, and no others. */
  publishTo(only: readonly RealtimeConnection[], hardwareId: string, tellings: Iterator<MaskedMessage>): void {
    if (only.length > 0) this.#take({ hardwareId, tellings, only })
  }

  /** Asks for each connection, when its turn comes, what it is told. */
  publishEach(frameFor: FrameBuilder): void {
    if (this.connections.size > 0) this.#take({ frameFor })
  }

  /**
   * Makes all that was told due to those who watch it now and may see it: to be called before anybody watches or sees
   * something else, and before a connection is sent what is to come behind it.
   */
  settle(): void {
    while (this.#news.length > 0) this.#tellNext()
  }

  #take(news: News): void {
    this.#news.push(news)
    const oldest = this.#told
    while (this.#news.length > MAX_WAITING && this.#told === oldest) this.#tellNext()
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

  /** Returns how long it worked; others had their turn in between. */
  async #write(): Promise<number> {
    let workedMs = 0
    let sliceAtMs = performance.now()
    const endSlice = async () => {
      workedMs += performance.now() - sliceAtMs
      await new Promise(setImmediate)
      sliceAtMs = performance.now()
    }
    const isOver = () => performance.now() - sliceAtMs >= this.#limits.sliceMs
    const end = this.#told + this.#news.length
    while (this.#told < end) {
      this.#tellNext()
      if (isOver()) await endSlice()
    }
    for (const connection of this.connections) {
      connection.flush()
      if (isOver()) await endSlice()
    }
    this.#dropExcess()
    return workedMs + performance.now() - sliceAtMs
  }

  /** Tells one message, or finds that there is none left of its news. */
  #tellNext(): void {
    const news = this.#news[0]
    if (news !== undefined && !this.#isTold(news)) return
    this.#news.shift()
    this.#told++
  }

  #isTold(news: News): boolean {
    try {
      return 'frameFor' in news ? this.#isEachTold(news.frameFor) : this.#isDeviceTold(news)
    } catch (error) {
      this.#deps.log.error({ reason: describeError(error) }, 'could not tell the watchers of a device')
      return true
    }
  }

  #isEachTold(frameFor: FrameBuilder): boolean {
    for (const connection of this.connections) {
      const frame = frameFor(connection)
      if (frame !== null) connection.enqueue(frame)
    }
    return true
  }

  #isDeviceTold({ hardwareId, tellings, only }: DeviceNews): boolean {
    const { value, done } = tellings.next()
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
