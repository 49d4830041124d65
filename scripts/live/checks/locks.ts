import type { Check, Finding } from '../bottle.ts'
import { isAtEdge, isIn } from '../model/ground.ts'
import { CLOSES_MINUTE, localToMs, toLocal } from '../model/local-time.ts'
import { isSettled } from './devices.ts'

const MINUTE_MS = 60_000
const AUTO_LOCK_MS = 10 * MINUTE_MS
const LATE_MS = 2 * MINUTE_MS
/** Longest life of a command. */
const COMMAND_MS = 2 * MINUTE_MS

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}

const early: Check = {
  number: 14,
  claim: 'a cart in the barn is locked after the minutes set, not before and not twice',
  when: 'look',
  find(bottle) {
    const { nowMs } = bottle.time
    const found: Finding[] = []
    for (const cart of bottle.carts) {
      const { hardwareId, ownLocks } = cart
      for (const { id, atMs, unlockedForMs, stillForMs, wasLocked } of ownLocks.splice(0)) {
        const { minute } = toLocal(atMs)
        const isClosing = minute >= CLOSES_MINUTE && minute <= CLOSES_MINUTE + 60
        const mayBeOfStaff = bottle.commandIds.has(id) || atMs - cart.unansweredMs < COMMAND_MS
        if (isClosing || mayBeOfStaff) continue
        const isEarly = Math.min(unlockedForMs, stillForMs) < AUTO_LOCK_MS - 10_000
        if (isEarly || wasLocked)
          found.push({
            subject: hardwareId,
            is: `${seconds(unlockedForMs)} after ${wasLocked ? 'a lock' : 'an unlock'}, ${seconds(stillForMs)} still`,
            expected: 'a lock after 600 s',
          })
      }
      const isKnown = cart.isConnected && cart.isDrained && cart.zonePath.isCurrent
      if (cart.isLocked || !isKnown || !isSettled(bottle, cart, AUTO_LOCK_MS + LATE_MS)) continue
      const { spot } = cart.here()
      if (!isIn('parking', spot) || isAtEdge(spot)) continue
      // it is locked once a stay, and that lock may have been sent while the cart had no signal
      const sinceMs = Math.max(cart.stillSinceMs, cart.lockChangedAtMs)
      if ((cart.linkChangedAtMs ?? 0) > sinceMs + AUTO_LOCK_MS - MINUTE_MS) continue
      const dueMs =
        Math.max(
          cart.stillSinceMs,
          cart.lockChangedAtMs,
          cart.linkChangedAtMs ?? 0,
          cart.zonePath.currentSinceMs,
          bottle.life.startedAtMs,
        ) + AUTO_LOCK_MS
      if (nowMs > dueMs + LATE_MS)
        found.push({
          subject: hardwareId,
          is: `unlocked ${Math.round((nowMs - dueMs) / 1000)} s after it was due`,
          expected: 'a lock',
        })
    }
    return found
  },
}

const closing: Check = {
  number: 15,
  claim: 'at closing time the carts in the barn are locked, once',
  when: 'look',
  async find(bottle) {
    const { nowMs } = bottle.time
    const { date, minute } = toLocal(nowMs)
    if (minute < CLOSES_MINUTE + 5 || minute >= CLOSES_MINUTE + 25) return []
    const closesMs = localToMs(date, CLOSES_MINUTE)
    const found: Finding[] = []
    for (const cart of bottle.carts) {
      const { spot } = cart.here()
      const forMs = nowMs - closesMs + 3 * MINUTE_MS
      if (!isSettled(bottle, cart, forMs) || !cart.isConnected || !isIn('parking', spot)) continue
      if (cart.stillSinceMs > closesMs - 3 * MINUTE_MS) continue
      const [before] = cart.lockEvents.filter(({ atMs }) => atMs < closesMs - LATE_MS).slice(-1)
      const next = cart.lockEvents.find(({ atMs }) => atMs >= closesMs - LATE_MS)
      if (before?.event === 'unlock' && (next === undefined || next.atMs > closesMs + MINUTE_MS))
        found.push({ subject: cart.hardwareId, is: 'not locked at closing time', expected: 'locked' })
    }
    const answer = await bottle.ask('GET', '/commands?limit=500')
    const counts = new Map<string, number>()
    for (const { hardware_id: id, requested_by: by, created_at: madeAt } of answer?.body.commands ?? [])
      if (by === 'closing' && Date.parse(madeAt) > closesMs - LATE_MS) counts.set(id, (counts.get(id) ?? 0) + 1)
    for (const [subject, count] of counts) if (count > 1) found.push({ subject, is: `${count} locks`, expected: 'one' })
    return found
  },
}

export const lockChecks: readonly Check[] = [early, closing]
