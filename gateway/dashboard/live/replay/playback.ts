import { effect, type ReadonlySignal, signal, untracked } from '@preact/signals-core'

export const SPEEDS = [1, 10, 30, 60, 120] as const
export type Speed = (typeof SPEEDS)[number]

/** Animation frames of the screen; tests advance them manually. */
export interface AnimationFrames {
  request(frame: (nowMs: number) => void): number
  cancel(id: number): void
}

/** Replayed period, both ends included. */
export interface Span {
  fromMs: number
  toMs: number
}

/** Longest frame that counts as watched time: a tablet in a pocket skips frames. */
const LONGEST_FRAME_MS = 500
const USUAL_SPEED: Speed = 60

const SCREEN_FRAMES: AnimationFrames = {
  request: (frame) => requestAnimationFrame(frame),
  cancel: (id) => cancelAnimationFrame(id),
}

/** Current moment within a span, moved manually or played at a multiple of real time. */
export class Playback {
  readonly #frames: AnimationFrames
  readonly #atMs = signal(0)
  readonly #isPlaying = signal(false)
  readonly #speed = signal<Speed>(USUAL_SPEED)
  #span: Span = { fromMs: 0, toMs: 0 }
  #asked: number | null = null
  #lastMs: number | null = null
  /** True while time stands still because the data to show is loading. */
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

  /** True while it waits for data. */
  get isHeld(): ReadonlySignal<boolean> {
    return this.#isHeld
  }

  get speed(): ReadonlySignal<Speed> {
    return this.#speed
  }

  /** Calls `show` with the moment, now and after each change; the returned function ends it. */
  follow(show: (atMs: number) => void): () => void {
    return effect(() => {
      const atMs = this.#atMs.value
      // signals that it reads must not rerun this effect
      untracked(() => show(atMs))
    })
  }

  /** Replaces the span by a longer or shorter one; the moment stays. */
  stretch(span: Span): void {
    this.#span = span
    this.seek(this.#atMs.value)
  }

  /** Opens another span at a moment. */
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

  /** Plays; at the end it restarts from the beginning. */
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
