import type { Bottle, Check, Command, Finding, Part } from '../bottle.ts'
import type { Entry } from '../plan.ts'

const FINAL = ['completed', 'failed', 'timeout']
/** Time to live of commands, as documented. */
const TTL_MS: Readonly<Record<string, number>> = { lock: 60_000, unlock: 60_000, locate: 120_000 }
/** Time that a lock waits for the position of its cart. */
const HELD_MS = 15_000
const TOLERANCE_MS = 2_000
/** Time for which a position of a cart shows if it moves. */
const MOTION_MS = 70_000
const DISTURBED_MS = 240_000
/** Time on a whole line within which a command is sent to its device, again if need be, and carried out. */
const DELIVERED_MS = 20_000

interface Shown {
  readonly command_id: string
  readonly status: string
  readonly error: string | null
  readonly expires_at: string
}

/** Follows each command of staff at the moments at which its state must have changed, or must not. */
export class CommandWatch implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  readonly #faults: Finding[] = []

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    this.checks = [
      {
        number: 12,
        claim: 'a pending lock is sent or failed within 15 s, and a command is final when its time is over, not before',
        when: 'look',
        find: () => this.#compare(),
      },
    ]
  }

  async perform(entry: Entry): Promise<void> {
    if (entry.kind !== 'command') return
    const { commands, time } = this.#bottle
    const command = commands.at(-1)
    if (command === undefined || command.atMs !== time.nowMs) return
    const ttlMs = TTL_MS[command.command] ?? 0
    // by the line that it has now: on another one it is sent again
    const isReached = this.#isReached(command)
    for (const afterMs of [1_000, TOLERANCE_MS, 10_000, HELD_MS + TOLERANCE_MS, ttlMs - 1_000, ttlMs + TOLERANCE_MS])
      setTimeout(() => {
        this.#ask(command, isReached).catch(() => undefined)
      }, afterMs)
  }

  async #ask(command: Command, wasReached: boolean): Promise<void> {
    const { life, time, finalAtMs } = this.#bottle
    const startedAtMs = life.startedAtMs
    if (!life.isRunning) return
    const { body } = await life.request('GET', `/commands/${command.id}`)
    const { status, error }: Shown = body
    const ageMs = time.nowMs - command.atMs
    const ttlMs = TTL_MS[command.command] ?? 0
    const hasRun = startedAtMs < command.atMs
    if (FINAL.includes(status) && !finalAtMs.has(command.id)) {
      finalAtMs.set(command.id, time.nowMs)
      const early = this.#earlyOf(command, status, error, ageMs)
      if (early !== null) this.#fault(command, `${status} ${error} after ${ageMs} ms`, early)
    }
    if (status === 'timeout' && ageMs < ttlMs + 2 * TOLERANCE_MS && this.#couldArrive(command))
      this.#fault(command, 'timeout', `carried out: its device was connected for ${DELIVERED_MS / 1_000} s before`)
    const since = Math.max(command.atMs + ttlMs, startedAtMs)
    const isWritten = this.#bottle.writesSinceMs < time.nowMs - DELIVERED_MS
    if (!FINAL.includes(status) && time.nowMs >= since + TOLERANCE_MS && isWritten)
      this.#fault(command, `${status} after ${ageMs} ms`, 'final')
    if (status !== 'pending' || !wasReached || !hasRun || !isWritten || !this.#isReached(command)) return
    const isHeld = command.command === 'lock'
    if (ageMs >= (isHeld ? HELD_MS : 0) + TOLERANCE_MS)
      this.#fault(command, `pending after ${ageMs} ms`, isHeld ? 'sent or failed within 15 s' : 'sent immediately')
  }

  /** Expected state of a command instead of a final one; null if it may be final. */
  #earlyOf(command: Command, status: string, error: string | null, ageMs: number): string | null {
    const { bottle } = { bottle: this.#bottle }
    const { cart, id, atMs } = command
    if (status === 'timeout') return ageMs < (TTL_MS[command.command] ?? 0) ? 'a timeout when its time is over' : null
    if (status === 'completed') return command.command === 'locate' || cart.carriedOut.has(id) ? null : 'not completed'
    if (error === 'position_unknown') return ageMs < HELD_MS ? 'a wait of 15 s' : null
    if (error !== 'cart_is_moving') return null
    // what the cart could not send is not known
    const isDisturbed = atMs - (bottle.disturbedAtMs.get(cart) ?? 0) < DISTURBED_MS || !cart.isDrained
    if (isDisturbed) return null
    const times = Array.from({ length: MOTION_MS / 1_000 + 1 }, (_, i) => bottle.time.nowMs - i * 1_000)
    return times.some((each) => cart.journeys.at(each).speedMps > 0) ? null : 'a lock of a cart that stands'
  }

  /** True if nothing was wrong with gateway, device and line for long enough until now. */
  #couldArrive({ cart }: Command): boolean {
    const { life, lines, time, writesSinceMs } = this.#bottle
    const sinceMs = time.nowMs - DELIVERED_MS
    const [line, ...others] = [...lines.open].filter(({ owner }) => owner === cart.program)
    if (line === undefined || others.length > 0 || !cart.isConnected || !cart.isAwake) return false
    const isWhole = line.cutAtMs === null && line.endedAtMs === null && line.changedAtMs < sinceMs
    const isLinked = (cart.linkChangedAtMs ?? time.nowMs) < sinceMs
    return isWhole && isLinked && life.startedAtMs < sinceMs && writesSinceMs < sinceMs && cart.isDrained
  }

  /** True if the broker has a connection of the cart: a cut line is one as long as it does not know. */
  #isReached({ cart, atMs }: Command): boolean {
    const [line, ...others] = [...this.#bottle.lines.open].filter(({ owner }) => owner === cart.program)
    if (line === undefined || others.length > 0 || !cart.isAwake) return false
    const linkedAtMs = cart.linkChangedAtMs ?? Number.POSITIVE_INFINITY
    return cart.isConnected && linkedAtMs < atMs - TOLERANCE_MS && line.endedAtMs === null
  }

  #fault({ cart, command, id }: Command, is: string, expected: string): void {
    this.#faults.push({ subject: cart.hardwareId, is: `${command} ${id}: ${is}`, expected })
  }

  async #compare(): Promise<Finding[]> {
    const { time, life } = this.#bottle
    const found = this.#faults.splice(0)
    // those of the gateway itself too
    const answer = await this.#bottle.ask('GET', '/commands?limit=200')
    if (answer === null || time.nowMs - life.startedAtMs < TOLERANCE_MS) return found
    const shown: Shown[] = answer.body.commands
    const late = shown.filter((one) => {
      return !FINAL.includes(one.status) && Date.parse(one.expires_at) < time.nowMs - TOLERANCE_MS
    })
    return [
      ...found,
      ...late.map((one) => ({ is: `${one.command_id}: ${one.status}`, expected: 'final: its time is over' })),
    ]
  }
}
