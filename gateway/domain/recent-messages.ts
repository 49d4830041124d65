/** Why a part of a message was not taken. */
interface Drop {
  reason: string
  count: number
}

/** One message of a device as it came, and what became of it. */
export interface RecentMessage {
  readonly atMs: number
  readonly topic: string
  /** The beginning of its payload, a character a byte. */
  readonly start: string
  /** How long the payload was. */
  readonly bytes: number
  /** `stored`, `waiting` for the disk, or why nothing of it was taken. */
  result: string
  /** Parts of it that were not taken. */
  readonly drops: readonly Drop[]
  /**
   * Seconds that the device's clock was known to be ahead, negative for behind; null while it was not known to be
   * wrong.
   */
  readonly clockOffS: number | null
}

/** How many are kept, and how many are taken in a second: whoever sends more is not slowed down for it. */
const KEPT = 20
const SECOND_MS = 1000
const START_BYTES = 1024

const NOTHING: readonly never[] = []

/** The last messages of one device, for the person who fits it. In memory only, and never in a log: they hold codes. */
export class RecentMessages {
  readonly #messages: RecentMessage[] = []
  #secondMs = 0
  #taken = 0

  /** How many more may be taken now. */
  roomAt(nowMs: number): number {
    if (nowMs - this.#secondMs >= SECOND_MS || nowMs < this.#secondMs) {
      this.#secondMs = nowMs
      this.#taken = 0
    }
    return KEPT - this.#taken
  }

  /** Takes the message whose payload lies in the bytes there; undefined when there are too many. */
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
    // a text of its own: the bytes are part of all that came in one read
    const start = bytes.toString('latin1', from, Math.min(to, from + START_BYTES))
    const message = { atMs, topic, start, bytes: to - from, result, drops, clockOffS }
    this.#messages.push(message)
    if (this.#messages.length > KEPT) this.#messages.shift()
    return message
  }

  /** Newest first. */
  all(): RecentMessage[] {
    return this.#messages.toReversed()
  }
}

/** The payload's beginning, which is no text where bytes of it are none. */
export function payloadOf({ start, bytes }: RecentMessage): { text: string } | { base64: string } {
  const payload = Buffer.from(start, 'latin1')
  // a character may have been cut in half
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(payload, { stream: start.length < bytes })
  return text.includes('\ufffd') ? { base64: payload.toString('base64') } : { text }
}
