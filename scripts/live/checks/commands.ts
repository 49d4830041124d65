import type { Check, Finding } from '../bottle.ts'

const MINUTE_MS = 60_000
const KEPT_MS = 15 * MINUTE_MS
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
      // a clock that is set ends their time
      if (bottle.wasClockWrong(atMs, atMs + 5 * MINUTE_MS)) continue
      const answer = await bottle.ask('GET', `/commands/${id}`)
      if (answer === null) return found
      bottle.commands.splice(
        bottle.commands.findIndex((one) => one.id === id),
        1,
      )
      const { status } = answer.body
      const endsAtMs = cart.carriedOut.get(id)
      const turned = endsAtMs !== undefined
      // a response that comes after an outage changes no outcome
      const isLate = turned && (cart.answeredAtMs.get(id) ?? 0) > endsAtMs
      const expected = command === 'locate' ? 'any final state' : turned ? 'completed' : 'failed or timeout'
      const isFree = command === 'locate' || (isLate && status === 'timeout')
      if (!FINAL.includes(status) || (!isFree && (status === 'completed') !== turned))
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
  find: ({ carts, commandIds, time }) =>
    carts.flatMap(({ hardwareId, receipts }) =>
      receipts
        .filter(({ command, atMs }) => command === 'lock' && atMs > time.nowMs - 10 * MINUTE_MS)
        .filter(({ id, speedMps, wasInBarn }) => speedMps > 0 && !(wasInBarn && commandIds.has(id)))
        .map(({ id, speedMps }) => ({ subject: hardwareId, is: `lock ${id} at ${speedMps} m/s`, expected: 'no lock' })),
    ),
}

const deliveries: Check = {
  number: 13,
  claim: 'a command is delivered at most once on a connection, and not after it is final',
  when: 'look',
  find: (bottle) =>
    bottle.carts.flatMap(({ hardwareId, receipts }) => {
      const seen = new Set<string>()
      const twice = receipts.filter(({ id, connection }) => {
        const isKnown = seen.has(`${id} ${connection}`)
        seen.add(`${id} ${connection}`)
        return isKnown
      })
      // a message bears the time of the gateway
      const late = receipts.filter(
        ({ id, atMs, madeAtMs }) =>
          madeAtMs > (bottle.finalAtMs.get(id) ?? atMs) && !bottle.wasClockWrong(atMs - KEPT_MS),
      )
      // one that came just now may come again
      const oldest = receipts.findIndex(({ atMs }) => atMs > bottle.time.nowMs - KEPT_MS)
      receipts.splice(0, oldest < 0 ? receipts.length : oldest)
      return [
        ...twice.map(({ id }) => ({ subject: hardwareId, is: `${id} twice on a connection`, expected: 'once' })),
        ...late.map(({ id }) => ({ subject: hardwareId, is: `${id} sent after it was final`, expected: 'not sent' })),
      ]
    }),
}

export const commandChecks: readonly Check[] = [outcomes, moving, deliveries]
