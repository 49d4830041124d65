import type { Check, Finding } from '../bottle.ts'
import { NIGHT_MINUTE, toLocal } from '../model/local-time.ts'

const MINUTE_MS = 60_000
const FINAL = ['completed', 'failed', 'timeout']

const outcomes: Check = {
  number: 10,
  claim: 'a command is completed if and only if the device carried it out',
  when: 'look',
  async find(bottle) {
    const found: Finding[] = []
    const due = bottle.commands.filter(({ atMs }) => bottle.time.nowMs - atMs > 5 * MINUTE_MS)
    for (const { id, cart, command, atMs } of due) {
      if (!cart.isDrained) continue
      const answer = await bottle.ask('GET', `/commands/${id}`)
      if (answer === null) return found
      bottle.commands.splice(
        bottle.commands.findIndex((one) => one.id === id),
        1,
      )
      const { status } = answer.body
      const turned = cart.carriedOut.has(id)
      const expected = command === 'locate' ? 'any final state' : turned ? 'completed' : 'failed or timeout'
      const isTrue =
        command === 'locate' ? FINAL.includes(status) : FINAL.includes(status) && (status === 'completed') === turned
      if (!isTrue)
        found.push({
          subject: cart.hardwareId,
          is: `${command} ${id} of ${new Date(atMs).toISOString()}: ${status}`,
          expected,
        })
    }
    return found
  },
}

const moving: Check = {
  number: 11,
  claim: 'no lock reaches a cart that drives',
  when: 'look',
  find: (bottle) =>
    bottle.carts.flatMap(({ hardwareId, receipts }) =>
      receipts
        .filter(
          ({ command, knownMps, atMs }) =>
            command === 'lock' && knownMps > 0 && atMs > bottle.time.nowMs - 10 * MINUTE_MS,
        )
        .map(({ id, knownMps }) => ({ subject: hardwareId, is: `lock ${id} at ${knownMps} m/s`, expected: 'no lock' })),
    ),
}

const deliveries: Check = {
  number: 13,
  claim: 'a command is delivered at most once on a connection',
  when: 'night',
  find: (bottle) =>
    bottle.carts.flatMap(({ hardwareId, receipts }) => {
      const seen = new Set<string>()
      const twice = receipts.filter(({ id, connection }) => {
        const isKnown = seen.has(`${id} ${connection}`)
        seen.add(`${id} ${connection}`)
        return isKnown
      })
      receipts.length = 0
      return twice.map(({ id }) => ({ subject: hardwareId, is: `${id} twice on a connection`, expected: 'once' }))
    }),
}

/** Interval at which the gateway stores the use of keys; a kill loses no more. */
const USAGE_SAVED_MS = 10_000

const usage: Check = {
  number: 41,
  claim: 'the counts of requests of a key are those that were made',
  when: 'look',
  async find(bottle) {
    const answer = await bottle.ask('GET', '/users')
    if (answer === null) return []
    const dayMs = bottle.time.nowMs - (bottle.time.nowMs % 86_400_000)
    const found: Finding[] = []
    for (const staff of bottle.staff) {
      const shown = answer.body.find((user: { user_id: string }) => user.user_id === staff.userId)?.usage
      const lost = staff.calls.filter((callMs) =>
        bottle.kills.some((killMs) => callMs <= killMs && killMs - callMs <= USAGE_SAVED_MS),
      )
      const today = staff.calls.filter((callMs) => callMs >= dayMs).length
      const lostToday = lost.filter((callMs) => callMs >= dayMs).length
      const counts = [
        ['total_requests', shown?.total_requests, staff.calls.length, lost.length],
        ['requests_today', shown?.requests_today, today, lostToday],
      ] as const
      for (const [name, is, made, mayMiss] of counts)
        if (is > made || is < made - mayMiss)
          found.push({ subject: staff.userId, is: `${name} ${is}`, expected: `${made}, less at most ${mayMiss}` })
    }
    return found
  },
}

/** Timers of the night before, by start of the gateway and by connected devices. */
const timers = new Map<string, number>()

const living: Check = {
  number: 48,
  claim: 'a night has as many timers as the night before',
  when: 'night',
  find(bottle) {
    const { program } = bottle.life
    // at the end of a run the carts are not as at night
    if (program === null || !bottle.life.isRunning || toLocal(bottle.time.nowMs).minute !== NIGHT_MINUTE) return []
    const connected = bottle.carts.filter(({ isConnected }) => isConnected).length
    const key = `${bottle.life.starts} ${connected}`
    const count = bottle.time.waitingOf(program)
    const before = timers.get(key)
    timers.set(key, count)
    if (before === undefined || Math.abs(count - before) <= Math.max(2, before * 0.02)) return []
    return [{ is: `${count} timers`, expected: `${before}, as the night before` }]
  },
}

/** Lines at warn or error that the faults of the model explain. */
const EXPLAINED: readonly RegExp[] = [/killed|not stopped|unclean/i]

const log: Check = {
  number: 51,
  claim: 'no line at warn or error without a fault that explains it',
  when: 'look',
  find: (bottle) =>
    bottle.log
      .splice(0)
      .filter(({ level, text }) => (level === 'error' || level === 'warn') && !EXPLAINED.some((one) => one.test(text)))
      .map(({ level, text }) => ({ is: `${level}: ${text}`, expected: 'no such line' })),
}

export const gatewayChecks: readonly Check[] = [outcomes, moving, deliveries, usage, living, log]
