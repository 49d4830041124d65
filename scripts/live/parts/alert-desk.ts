import type { Bottle, Check, Finding, Part } from '../bottle.ts'
import type { Entry } from '../plan.ts'

type AlertEntry = Extract<Entry, { kind: 'alert' }>

/** Interval at which staff look at the list of alerts. */
const LOOK_MS = 600_000
const NO_ALERT = '00000000-0000-4000-8000-000000000000'
/** Time for which an act is compared; the gateway keeps alerts for longer. */
const COMPARED_MS = 86_400_000

/** Act of staff on an alert. */
interface Act {
  readonly atMs: number
  readonly how: 'acknowledge' | 'close'
  readonly note: string
}

/** Staff who acknowledge and close alerts. */
export class AlertDesk implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  readonly #acts = new Map<string, Act>()
  /** Acts that wait for the next alerts that staff see. */
  #planned: AlertEntry[] = []
  #lookedMs = 0
  #restores = 0
  #count = 0

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    const claim = 'an alert that staff acknowledged or closed stays so, with the note'
    this.checks = [{ number: 54, claim, when: 'look', find: () => this.#find() }]
  }

  async perform(entry: Entry): Promise<void> {
    const { nowMs } = this.#bottle.time
    if (entry.kind === 'alert') {
      this.#planned.push(entry)
      await this.#actOnNone(entry.how)
    }
    // one of its own kills comes between the entries
    if (entry.kind === 'kill' || nowMs < this.#lookedMs + LOOK_MS) return
    this.#lookedMs = nowMs
    await this.#act()
  }

  /** Performs the planned acts on the alerts that are open now. */
  async #act(): Promise<void> {
    for (const entry of this.#planned.splice(0)) if (!(await this.#actOn(entry))) this.#planned.push(entry)
  }

  /** Acts on an alert that is not there. */
  async #actOnNone(how: AlertEntry['how']): Promise<void> {
    const answer = await this.#bottle.ask('POST', `/alerts/${NO_ALERT}/${how}`)
    if (answer !== null && answer.status !== 404)
      this.#bottle.report(54, { is: `${how} of no alert: ${answer.status}`, expected: '404' })
  }

  /** Returns false if there is no alert. */
  async #actOn(entry: AlertEntry): Promise<boolean> {
    const { closedByStaff, time } = this.#bottle
    const state = entry.how === 'close' && entry.choice % 2 === 0 ? 'acknowledged' : 'open'
    const listed = await this.#bottle.ask('GET', `/alerts?state=${state}&limit=1000`)
    const own = listed?.body.alerts.filter(({ cart }: { cart: string | null }) => cart !== null) ?? []
    if (own.length === 0) return false
    const { alert_id: id, kind, cart } = own[entry.choice % own.length]
    const note = `note ${++this.#count}`
    const closed = (isSure: boolean) => {
      if (entry.how === 'close') closedByStaff.set(`${kind} of cart-${cart}`, { atMs: time.nowMs, isSure })
    }
    // without a response it may be done
    closed(false)
    if (entry.kill !== null) {
      const { afterMs, downMs } = entry.kill
      setTimeout(() => this.#bottle.perform({ atMs: time.nowMs, kind: 'kill', turns: 0, downMs }), afterMs)
    }
    const answer = await this.#bottle.ask('POST', `/alerts/${id}/${entry.how}`, { note })
    if (answer === null) return true
    closed(answer.status === 200)
    const known = this.#acts.get(id)
    // a later acknowledgement changes nothing, and neither does one of a closed alert
    if (answer.status === 200 && (known === undefined || (known.how === 'acknowledge' && entry.how === 'close')))
      this.#acts.set(id, { atMs: time.nowMs, how: entry.how, note })
    else if (answer.status !== 200)
      this.#bottle.report(54, { subject: id, is: `${entry.how}: ${answer.status}`, expected: '200' })
    return true
  }

  async #find(): Promise<Finding[]> {
    const { restores, time } = this.#bottle
    // a restored copy has an earlier state
    if (restores.length > this.#restores) this.#acts.clear()
    this.#restores = restores.length
    const found: Finding[] = []
    for (const [id, { atMs, how, note }] of this.#acts) {
      if (atMs < time.nowMs - COMPARED_MS) this.#acts.delete(id)
      const answer = await this.#bottle.ask('GET', `/alerts/${id}`)
      if (answer === null) return found
      const { acknowledged_at: acknowledged, closed_at: closed, note: shown } = answer.body
      const at = how === 'close' ? closed : acknowledged
      if (typeof at !== 'string' || shown !== note)
        found.push({ subject: id, is: `${answer.status}, ${at}, ${shown}`, expected: `${how}, ${note}` })
    }
    return found
  }
}
