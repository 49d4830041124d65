import type { Bottle, Check, Part } from '../bottle.ts'
import type { Entry } from '../plan.ts'

/** Interval at which the gateway stores the use of keys; a kill loses no more. */
const USAGE_SAVED_MS = 10_000

/** Calls after so many of which the key is replaced, about five times a day. */
const REPLACED_EVERY = 6

/** A person who works with a key of the API. */
interface StaffKey {
  readonly userId: string
  /** Null while a replacement had no response. */
  key: string | null
  /** Times of its requests. */
  readonly calls: number[]
}

/** Staff with keys of the API, who send commands and read lists. */
export class Keys implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  readonly #staff: StaffKey[] = []
  #restores = 0

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    const usage: Check = {
      number: 41,
      claim: 'the counts of requests of a key are those that were made',
      when: 'look',
      find: () => this.#compareUsage(),
    }
    this.checks = [usage]
  }

  async setUp(): Promise<void> {
    for (const name of ['Starter', 'Greenkeeper']) {
      const body = { name, role: 'staff', allowed_hardware_ids: ['*'] }
      const { user, api_key: key } = await this.#bottle.set('POST', '/users', body)
      this.#staff.push({ userId: user.user_id, key, calls: [] })
    }
  }

  async perform(entry: Entry): Promise<void> {
    const [starter, greenkeeper] = this.#staff as [StaffKey, StaffKey]
    const { restores } = this.#bottle
    // a copy of the data folder may have the key before
    if (restores.length > this.#restores) greenkeeper.key = null
    this.#restores = restores.length
    if (entry.kind === 'calls') {
      for (let i = 0; i < entry.count; i++) await this.#ask(greenkeeper, 'GET', '/carts')
      // counts that are not stored yet must survive a change of the user
      const name = `Greenkeeper ${entry.count}`
      await this.#bottle.ask('PATCH', `/users/${greenkeeper.userId}`, { name })
      if (entry.count % REPLACED_EVERY === 0 || greenkeeper.key === null) await this.#replaceKey(greenkeeper)
    }
    if (entry.kind !== 'command') return
    const { carts, commands, commandIds, time } = this.#bottle
    const cart = carts[entry.cart - 1]
    if (cart === undefined) return
    const { command } = entry
    const atMs = time.nowMs
    const answer = await this.#ask(starter, 'POST', `/devices/${cart.hardwareId}/commands`, { command })
    if (answer === null) cart.unansweredMs = atMs
    if (answer?.status !== 202) return
    commands.push({ id: answer.body.command_id, cart, command, atMs })
    commandIds.add(answer.body.command_id)
  }

  /** Replaces a key: the one before opens nothing any more. */
  async #replaceKey(staff: StaffKey): Promise<void> {
    const before = staff.key
    staff.key = null
    const answer = await this.#bottle.ask('POST', `/users/${staff.userId}/rotate-key`)
    if (answer?.status !== 200) return
    staff.key = answer.body.api_key
    if (before === null) return
    const refused = await this.#bottle.ask('GET', '/me', undefined, before)
    if (refused !== null && refused.status !== 401)
      this.#bottle.report(34, { subject: staff.userId, is: `${refused.status} with a replaced key`, expected: '401' })
  }

  async #ask(staff: StaffKey, method: string, path: string, body?: unknown) {
    if (!this.#bottle.life.isRunning || staff.key === null) return null
    staff.calls.push(this.#bottle.time.nowMs)
    return this.#bottle.ask(method, path, body, staff.key)
  }

  async #compareUsage() {
    const { time, kills, unsaved, restores } = this.#bottle
    // by a wrong clock another day has begun
    const isDayKnown = !this.#bottle.wasClockWrong(time.nowMs - (time.nowMs % 86_400_000))
    const answer = await this.#bottle.ask('GET', '/users')
    if (answer === null) return []
    const dayMs = time.nowMs - (time.nowMs % 86_400_000)
    return this.#staff.flatMap(({ userId, calls }) => {
      const shown = answer.body.find((user: { user_id: string }) => user.user_id === userId)?.usage
      const lost = calls.filter(
        (callMs) =>
          [...kills, ...unsaved].some((killMs) => callMs <= killMs && killMs - callMs <= USAGE_SAVED_MS) ||
          restores.some(({ fromMs, toMs }) => callMs >= fromMs - USAGE_SAVED_MS && callMs <= toMs),
      )
      const ofToday = (all: readonly number[]) => all.filter((callMs) => callMs >= dayMs).length
      const counts = [
        ['total_requests', shown?.total_requests, calls.length, lost.length],
        ['requests_today', shown?.requests_today, ofToday(calls), ofToday(lost)],
      ] as const
      return counts
        .filter(([name]) => isDayKnown || name !== 'requests_today')
        .filter(([, is, made, mayMiss]) => is > made || is < made - mayMiss)
        .map(([name, is, made, mayMiss]) => ({
          subject: userId,
          is: `${name} ${is}`,
          expected: `${made}, less at most ${mayMiss}`,
        }))
    })
  }
}
