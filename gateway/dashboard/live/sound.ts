import { keepText, readKept } from './page/kept-text.ts'

const BEEPS = 3
const BEEP_S = 0.16
const APART_S = 0.26
const PITCH_HZ = 880
const MUTED = 'cartbarn-muted'

/** Sound of alerts. Browsers mute a page until the first tap; the choice to mute is stored on the tablet if allowed. */
export class Sound {
  #context: AudioContext | null = null
  #isMuted = readKept(() => localStorage, MUTED) === 'true'

  /** Waits for the first tap. */
  start(): void {
    const unlock = () => {
      this.#context ??= new AudioContext()
      void this.#context.resume()
    }
    for (const event of ['pointerdown', 'keydown']) addEventListener(event, unlock)
  }

  get isMuted(): boolean {
    return this.#isMuted
  }

  set isMuted(isMuted: boolean) {
    this.#isMuted = isMuted
    keepText(() => localStorage, MUTED, String(isMuted))
  }

  /** Plays three short tones; false if the page is muted. */
  ring(): boolean {
    const context = this.#context
    if (this.#isMuted || context?.state !== 'running') return false
    for (let beep = 0; beep < BEEPS; beep++) playTone(context, context.currentTime + beep * APART_S)
    return true
  }
}

function playTone(context: AudioContext, atS: number): void {
  const [tone, volume] = [context.createOscillator(), context.createGain()]
  tone.type = 'square'
  tone.frequency.value = PITCH_HZ
  volume.gain.setValueAtTime(0, atS)
  volume.gain.linearRampToValueAtTime(0.25, atS + 0.01)
  volume.gain.setValueAtTime(0.25, atS + BEEP_S - 0.03)
  volume.gain.linearRampToValueAtTime(0, atS + BEEP_S)
  tone.connect(volume).connect(context.destination)
  tone.start(atS)
  tone.stop(atS + BEEP_S)
}
