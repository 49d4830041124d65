interface Drop {
  reason: string
  count: number
}

/** Message of a device as received, and its result. */
export interface RecentMessage {
  readonly atMs: number
  readonly topic: string
  /** Beginning of its payload, one character per byte. */
  readonly start: string
  /** Length of the payload in bytes. */
  readonly bytes: number
  /** Result: `stored`, `waiting` for the disk, or the reason why all was dropped. */
  result: string
  readonly drops: readonly Drop[]
  /** Known offset of the device's clock in seconds, negative if behind; null while it was not known to be wrong. */
  readonly clockOffS: number | null
}

/** Number of messages kept, and limit recorded per second, so that recording does not slow down a busy device. */
const KEPT = 20
const SECOND_MS = 1000
const START_BYTES = 1024

const NOTHING: readonly never[] = []

/** Last messages of one device, for its installer. In memory only, and never in a log, because they contain codes. */
export class RecentMessages {
  readonly #messages: RecentMessage[] = []
  #secondMs = 0
  #taken = 0

  /** Returns the number of messages that may still be recorded now. */
  roomAt(nowMs: number): number {
    if (nowMs - this.#secondMs >= SECOND_MS || nowMs < this.#secondMs) {
      this.#secondMs = nowMs
      this.#taken = 0
    }
    return KEPT - this.#taken
  }

  /** Records the message whose payload lies in this range of the bytes; undefined beyond the limit. */
  take(
    {
      atMs,
      topic,
      result,
      drops = NOTHING,
      clockOffS = null,
    }: Pick<RecentMessage, 'atMs' | 'topic' | 'result'> & Partial<Pick<RecentMessage, 'drops' | 'clockOffS'>>,
    bytes: Buffer,
    from = 0,
    to = bytes.length,
  ): RecentMessage | undefined {
    if (this.roomAt(atMs) <= 0) return undefined
    this.#taken++
    // a string of its own: the bytes belong to the buffer of a whole read
    const start = bytes.toString('latin1', from, Math.min(to, from + START_BYTES))
    const message = { atMs, topic, start, bytes: to - from, result, drops, clockOffS }
    this.#messages.push(message)
    if (this.#messages.length > KEPT) this.#messages.shift()
    return message
  }

  /** Returns the messages, newest first. */
  all(): RecentMessage[] {
    return this.#messages.toReversed()
  }
}

/** Returns the beginning of the payload, as base64 if it is not text. */
export function payloadOf({ start, bytes }: RecentMessage): { text: string } | { base64: string } {
  const payload = Buffer.from(start, 'latin1')
  // the last character may have been cut
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(payload, { stream: start.length < bytes })
  return text.includes('\ufffd') ? { base64: payload.toString('base64') } : { text }
}
