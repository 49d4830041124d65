import type { Bottle, Check, Finding, Part } from '../bottle.ts'
import { isSettled } from '../checks/devices.ts'
import type { Entry } from '../plan.ts'

const MINUTE_MS = 60_000
/** Time after which the alert must be open without a source that agrees with the clock. */
const OPENS_MS = 12 * MINUTE_MS
/** Time within which the system, a battery clock or an admin ends it, and that of two devices. */
const CLOSES_MS = MINUTE_MS
const DEVICES_MS = 14 * MINUTE_MS
/** Time after which the network is there again, in any case. */
const NETWORK_MS = 40 * MINUTE_MS
/** Lines that a wrong clock explains. */
const EXPLAINED = [
  /clock fault detected|clock was set|retention paused/,
  /certificate renewal failed|the certificate (has expired|is not valid yet|expires soon)/,
  /the clocks of this gateway and the hub differ/,
]

/** The clock of the gateway's computer: starts in 1970, jumps both ways, and who puts it right. */
export class HostClock implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  #isSynchronized = true
  #hasBatteryClock = false
  #setAtMs = Number.NEGATIVE_INFINITY
  /** True if it was set back when it was put right, which a battery clock or devices do not prove. */
  #wasAhead = false
  /** Time at which it was set right by hand, until it is synchronized; null else. */
  #setRightAtMs: number | null = null

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    Object.assign(bottle.overrides, {
      isTimeSynchronized: () => this.#isSynchronized,
      hardwareTimesMs: () => (this.#hasBatteryClock ? [bottle.time.nowMs] : []),
    })
    const alert: Check = {
      number: 26,
      claim: 'the alert clock is open while the clock is wrong',
      when: 'look',
      isForWrongClocks: true,
      find: () => this.#alert(),
    }
    this.checks = [alert]
  }

  async perform(entry: Entry): Promise<void> {
    if (entry.kind === 'clock') this.#set(entry.offMs)
    if (entry.kind === 'clock-right') await this.#putRight(entry.by)
  }

  #set(offMs: number | null): void {
    const { life, time, explained } = this.#bottle
    explained.push(...EXPLAINED)
    // as a computer without a battery clock that has no network
    life.wallOffsetMs = offMs ?? 5_000 - time.nowMs
    this.#isSynchronized = false
    this.#hasBatteryClock = false
    this.#setRightAtMs = null
    this.#setAtMs = time.nowMs
    if (this.#bottle.clockRightSinceMs === Number.POSITIVE_INFINITY) return
    this.#bottle.clockRightSinceMs = Number.POSITIVE_INFINITY
    this.#bottle.wrongClocks.push({ fromMs: time.nowMs, toMs: Number.POSITIVE_INFINITY })
  }

  async #putRight(by: Extract<Entry, { kind: 'clock-right' }>['by']): Promise<void> {
    const { life, time } = this.#bottle
    if (life.wallOffsetMs === 0) return
    this.#wasAhead = life.wallOffsetMs > 0
    life.wallOffsetMs = 0
    this.#setAtMs = time.nowMs
    this.#setRightAtMs = time.nowMs
    this.#hasBatteryClock = by === 'hardware'
    if (by === 'admin') {
      const answer = await this.#bottle.ask('POST', '/clock/confirm', { time: new Date(time.nowMs).toISOString() })
      if (answer !== null && answer.status !== 200 && answer.status !== 204)
        this.#bottle.report(26, { is: `a right clock is not confirmed: ${JSON.stringify(answer)}`, expected: '200' })
    }
    if (by === 'system') this.#synchronize(this.#setRightAtMs)
    else {
      const setMs = this.#setRightAtMs
      setTimeout(() => this.#synchronize(setMs), NETWORK_MS)
    }
  }

  #synchronize(setMs: number): void {
    if (this.#setRightAtMs !== setMs) return
    this.#setRightAtMs = null
    this.#isSynchronized = true
    const { time, wrongClocks } = this.#bottle
    this.#bottle.clockRightSinceMs = time.nowMs
    const last = wrongClocks.at(-1)
    if (last !== undefined) last.toMs = time.nowMs
  }

  async #alert(): Promise<Finding[]> {
    const answer = await this.#bottle.ask('GET', '/alerts?kind=clock&state=open')
    const expected = this.#mustBeOpen()
    if (answer === null || expected === null) return []
    const isOpen = answer.body.alerts.length > 0
    if (isOpen === expected) return []
    const offS = Math.round(this.#bottle.life.wallOffsetMs / 1000)
    return [{ is: `clock ${isOpen ? 'open' : 'not open'}, ${offS} s off`, expected: expected ? 'open' : 'not open' }]
  }

  #mustBeOpen(): boolean | null {
    const { life, time, carts, clockRightSinceMs } = this.#bottle
    const sinceMs = time.nowMs - Math.max(life.startedAtMs, this.#setAtMs)
    if (life.wallOffsetMs !== 0) return sinceMs > OPENS_MS ? true : null
    if (time.nowMs - Math.max(life.startedAtMs, clockRightSinceMs) > CLOSES_MS) return false
    if (this.#wasAhead) return null
    if (this.#hasBatteryClock && sinceMs > CLOSES_MS) return false
    const heard = carts.filter(
      (cart) => isSettled(this.#bottle, cart, DEVICES_MS) && cart.isConnected && cart.isAwake && cart.isDrained,
    )
    return heard.length >= 2 && sinceMs > DEVICES_MS ? false : null
  }
}
