import { partHash } from '#shared/sync-hash.ts'
import type { StreamPart } from '#shared/sync-source.ts'
import type { MonotonicClock } from '#shared/time.ts'
import type { SyncCursor, SyncPart, SyncStream } from '#shared/wire/replication/sync.ts'
import { Backoff, LONGEST_BACKOFF_MS } from './backoff.ts'

/** Problem of a stream that only staff can solve. */
export interface StreamTrouble {
  readonly state: 'part_refused' | 'unreadable' | 'hub_full'
  readonly detail: string
}

/** Number of refusals of the same part before the stream reports a problem. */
const REJECTIONS = 3
/** Number of failed reads before the stream reports a problem: a stopping or busy store recovers soon. */
const UNREAD = 3
const LARGEST_SHRINK = 20
/** Number of accepted parts before the next one may be larger again. */
const GROW_AFTER = 8

/** State of sending one stream: maximum size of parts, time of the next attempt, and if it needs its own request. */
export class StreamSender {
  readonly stream: SyncStream
  readonly #clock: MonotonicClock
  readonly #backoff: Backoff
  #notBeforeMs = 0
  #shrink = 0
  #taken = 0
  #rejections = 0
  #unread = 0
  #isAlone = false
  #trouble: StreamTrouble | null = null

  constructor(stream: SyncStream, clock: MonotonicClock, random: () => number, longestBackoffMs = LONGEST_BACKOFF_MS) {
    this.stream = stream
    this.#clock = clock
    this.#backoff = new Backoff(random, { longestMs: longestBackoffMs })
  }

  get trouble(): StreamTrouble | null {
    return this.#trouble
  }

  /** True after a shared request was refused: until it is known whose part caused it, the stream shares none. */
  get isAlone(): boolean {
    return this.#isAlone
  }

  /** Milliseconds until the next part may be tried. */
  get holdMs(): number {
    return Math.max(0, this.#notBeforeMs - this.#clock.monotonicMs())
  }

  /** Number of times that its parts have been halved; a full hub gets the smallest possible request. */
  get shrink(): number {
    return this.#trouble?.state === 'hub_full' ? LARGEST_SHRINK : this.#shrink
  }

  succeeded(): void {
    this.#rejections = 0
    this.#unread = 0
    this.#isAlone = false
    this.#trouble = null
    this.#backoff.reset()
    if (this.#shrink > 0 && ++this.#taken >= GROW_AFTER) {
      this.#taken = 0
      this.#shrink--
    }
  }

  /** Records that its request was too large; `rows` is the number of rows in its part. */
  tooLarge(rows: number, wasAlone: boolean, detail: string): void {
    this.#taken = 0
    if (!wasAlone) this.#isAlone = true
    else if (rows > 1 && this.#shrink < LARGEST_SHRINK) this.#shrink++
    else this.#give(`a single row is too large for the hub: ${detail}`)
  }

  /** Records that the request took too long: a smaller one may succeed. */
  tookTooLong(): void {
    this.#taken = 0
    this.#shrink = Math.min(this.#shrink + 1, LARGEST_SHRINK)
  }

  /** Records that the hub cannot read or apply the part. */
  rejected(wasAlone: boolean, detail: string): void {
    if (!wasAlone) {
      this.#isAlone = true
      return
    }
    this.#rejections++
    if (this.#rejections >= REJECTIONS) this.#give(`the hub refuses a part: ${detail}`)
    else this.hold()
  }

  /** Records that the hub has no room for more of this stream: attempts become increasingly rare. */
  hubIsFull(wasAlone: boolean, detail: string): void {
    this.#isAlone = true
    // another stream of the same request may have caused the refusal
    if (!wasAlone) return
    this.#trouble = { state: 'hub_full', detail }
    this.hold()
  }

  /** Records that the gateway cannot read the next part; other streams need not wait for it. */
  cannotRead(detail: string): void {
    this.#unread++
    if (this.#unread >= UNREAD) this.#trouble = { state: 'unreadable', detail }
    this.hold()
  }

  /** Records that the stream is at its end: the unreadable rows have been deleted. */
  isAtEnd(): void {
    this.#unread = 0
    if (this.#trouble?.state === 'unreadable') this.#trouble = null
  }

  /** Delays the next attempt, longer each time. */
  hold(): void {
    this.#notBeforeMs = this.#clock.monotonicMs() + this.#backoff.nextMs()
  }

  #give(detail: string): void {
    this.#trouble = { state: 'part_refused', detail }
    this.#isAlone = true
    this.#notBeforeMs = this.#clock.monotonicMs() + LONGEST_BACKOFF_MS
  }
}

/** Returns the part in its wire format, starting after `from`. */
export function toSyncPart(stream: SyncStream, from: SyncCursor, part: StreamPart): SyncPart {
  const { to, count, encoding, data } = part
  const head = { stream, from: from.seq, to, count, prev_hash: from.hash, encoding }
  return { ...head, hash: partHash(head, data), data: toBase64(data) }
}

export function toBase64(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
}
