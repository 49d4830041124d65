import { effect, type ReadonlySignal, signal, untracked } from '@preact/signals-core'

export const SPEEDS = [1, 10, 30, 60, 120] as const
export type Speed = (typeof SPEEDS)[number]

/** Frames of the screen; in tests a hand that turns. */
export interface AnimationFrames {
  request(frame: (nowMs: number) => void): number
  cancel(id: number): void
}

/** What is replayed: both ends included. */
export interface Span {
  fromMs: number
  toMs: number
}

/** One that the screen skipped for longer, as a tablet in a pocket does, is no time that was watched. */
const LONGEST_FRAME_MS = 500
const USUAL_SPEED: Speed = 60

const SCREEN_FRAMES: AnimationFrames = {
  request: (frame) => requestAnimationFrame(frame),
  cancel: (id) => cancelAnimationFrame(id),
}

/** A moment within a span that is moved by hand, or goes on by itself, so many times as fast as it did. */
export class Playback {
  readonly #frames: AnimationFrames
  readonly #atMs = signal(0)
  readonly #isPlaying = signal(false)
  readonly #speed = signal<Speed>(USUAL_SPEED)
  #span: Span = { fromMs: 0, toMs: 0 }
  #asked: number | null = null
  #lastMs: number | null = null
  /** Time stands still while what is to be shown is not here yet. */
  readonly #isHeld = signal(false)

  constructor(frames: AnimationFrames = SCREEN_FRAMES) {
    this.#frames = frames
  }

  get atMs(): ReadonlySignal<number> {
    return this.#atMs
  }

  get isPlaying(): ReadonlySignal<boolean> {
    return this.#isPlaying
  }

  /** It waits for what is to be shown. */
  get isHeld(): ReadonlySignal<boolean> {
    return this.#isHeld
  }

  get speed(): ReadonlySignal<Speed> {
    return this.#speed
  }

  /** Tells the moment, now and whenever it is another; ends with what it returns. */
  follow(show: (atMs: number) => void): () => void {
    return effect(() => {
      const atMs = this.#atMs.value
      // what it reads and writes is its own
      untracked(() => show(atMs))
    })
  }

  /** The span has grown or shrunk; it goes on where it is. */
  stretch(span: Span): void {
    this.#span = span
    this.seek(this.#atMs.value)
  }

  /** Another span, and where to begin in it. */
  open(span: Span, atMs: number): void {
    this.pause()
    this.#span = span
    this.seek(atMs)
  }

  seek(atMs: number): void {
    const { fromMs, toMs } = this.#span
    this.#atMs.value = Math.round(Math.min(toMs, Math.max(fromMs, atMs)))
  }

  set speed(speed: Speed) {
    this.#speed.value = speed
  }

  hold(isHeld: boolean): void {
    this.#isHeld.value = isHeld
  }

  /** At the end it begins anew. */
  play(): void {
    if (this.#isPlaying.value) return
    if (this.#atMs.value >= this.#span.toMs) this.seek(this.#span.fromMs)
    this.#isPlaying.value = true
    this.#lastMs = null
    this.#ask()
  }

  pause(): void {
    this.#isPlaying.value = false
    if (this.#asked !== null) this.#frames.cancel(this.#asked)
    this.#asked = null
  }

  #ask(): void {
    this.#asked = this.#frames.request((nowMs) => this.#frame(nowMs))
  }

  #frame(nowMs: number): void {
    this.#asked = null
    if (!this.#isPlaying.value) return
    const tookMs = Math.min(LONGEST_FRAME_MS, nowMs - (this.#lastMs ?? nowMs))
    this.#lastMs = nowMs
    if (!this.#isHeld.peek()) this.seek(this.#atMs.value + tookMs * this.#speed.value)
    if (this.#atMs.value >= this.#span.toMs) this.pause()
    else this.#ask()
  }
}
