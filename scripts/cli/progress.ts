import type { CommandIo } from './command.ts'

const BAR_WIDTH = 24
const LINE_PAUSE_MS = 5_000
const BAR_PAUSE_MS = 100

/** Progress of a command: a moving bar on a terminal, an occasional line elsewhere, nothing with --quiet. */
export class Progress {
  readonly #stderr: CommandIo['stderr']
  readonly #isQuiet: boolean
  readonly #startedAtMs = performance.now()
  #shownAtMs = Number.NEGATIVE_INFINITY
  #isLineOpen = false

  constructor(stderr: CommandIo['stderr'], isQuiet: boolean) {
    this.#stderr = stderr
    this.#isQuiet = isQuiet
  }

  get elapsedS(): number {
    return (performance.now() - this.#startedAtMs) / 1000
  }

  /** `share` of the whole is done, null if unknown; `text` describes the work. */
  show(share: number | null, text: string): void {
    if (this.#isQuiet) return
    const isTerminal = this.#stderr.isTTY === true
    const nowMs = performance.now()
    if (nowMs - this.#shownAtMs < (isTerminal ? BAR_PAUSE_MS : LINE_PAUSE_MS)) return
    // a terminal shows the bar immediately; elsewhere work that takes less than a line's interval prints none
    if (!isTerminal && this.elapsedS * 1000 < LINE_PAUSE_MS) return
    this.#shownAtMs = nowMs
    const line = share === null ? text : `${bar(share)} ${text}${this.#timeLeft(share)}`
    if (!isTerminal) {
      this.#stderr.write(`${line}\n`)
      return
    }
    this.#stderr.write(`\r\x1b[K${line}`)
    this.#isLineOpen = true
  }

  /** Prints a line that stays. */
  say(text: string): void {
    this.end()
    if (!this.#isQuiet) this.#stderr.write(`${text}\n`)
  }

  /** Removes the bar. */
  end(): void {
    if (this.#isLineOpen) this.#stderr.write('\r\x1b[K')
    this.#isLineOpen = false
  }

  #timeLeft(share: number): string {
    if (share <= 0 || share >= 1) return ''
    return `, ${minutes((this.elapsedS * (1 - share)) / share)} left`
  }
}

function bar(share: number): string {
  const done = Math.round(Math.min(1, share) * BAR_WIDTH)
  const percent = String(Math.floor(Math.min(1, share) * 100)).padStart(3)
  return `${'█'.repeat(done)}${'░'.repeat(BAR_WIDTH - done)} ${percent} %`
}

/** Formats a duration: 2:05. */
export function minutes(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`
}

/** Formats a number: 20,411. */
export function grouped(count: number): string {
  return Math.round(count).toLocaleString('en')
}
