import { setTimeout as sleep } from 'node:timers/promises'
import { answerCalls } from '../calls.ts'
import { ownCpuSeconds } from '../process-usage.ts'
import { AttackConnection } from './attack-connection.ts'
import { type AttackPlan, type AttackResult, LIFE_S } from './attack-plan.ts'

/** Process of a noisy client. */

const TICK_MS = 5
const START_LIMIT_MS = 30_000
const NUMBERS_FROM = 1_000_000_000

const tally = { opens: 0, writes: 0, counts: {} as Record<string, number> }
let since = { ms: performance.now(), cpuS: ownCpuSeconds() }
let nextNumber = NUMBERS_FROM

function count(name: string): void {
  tally.counts[name] = (tally.counts[name] ?? 0) + 1
}

/** Repeats an action at a rate; does not make up for late ones. */
function every(perS: number, act: () => boolean): void {
  if (perS <= 0) return
  let [lastMs, due] = [performance.now(), 0]
  setInterval(() => {
    const nowMs = performance.now()
    due += ((nowMs - lastMs) * perS) / 1000
    lastMs = nowMs
    while (due >= 1) {
      due = act() ? due - 1 : 0
    }
  }, TICK_MS)
}

/** Tries all connections once; resolves when that is done, or the limit expires. */
async function start(plan: AttackPlan): Promise<AttackResult> {
  setTimeout(() => process.exit(0), LIFE_S * 1000)
  const connections = Array.from(
    { length: plan.connections },
    (_, i) => new AttackConnection(plan, plan.first[i % plan.first.length] ?? Buffer.alloc(0), count),
  )
  const open = (connection: AttackConnection | undefined) => {
    if (connection === undefined) return false
    tally.opens++
    connection.open()
    return true
  }
  let tried = 0
  every(plan.opensPerS, () => open(connections[tried++]))
  const giveUpMs = performance.now() + START_LIMIT_MS
  while (tried < connections.length && performance.now() < giveUpMs) await sleep(TICK_MS)
  const isBackAllowed = plan.after !== 'leaves once subscribed'
  if (isBackAllowed) every(plan.reopensPerS, () => open(connections.find(({ isClosed }) => isClosed)))
  let churned = 0
  every(plan.churnPerS, () => open(connections[churned++ % connections.length]))
  writeOn(plan, connections)
  return result()
}

function writeOn(plan: AttackPlan, connections: readonly AttackConnection[]): void {
  let turn = 0
  every(plan.nextPerS, () => {
    for (let tries = 0; tries < connections.length; tries++) {
      const connection = connections[turn++ % connections.length]
      if (!connection?.isReady) continue
      const bytes = plan.next[Math.floor(turn / connections.length) % plan.next.length]
      connection.write(bytes === undefined ? Buffer.alloc(0) : numbered(bytes, plan.numbersAt))
      tally.writes++
      return true
    }
    return false
  })
}

/** Copies the bytes, as a socket may still have the last ones. */
function numbered(bytes: Buffer, numbersAt: readonly number[]): Buffer {
  if (numbersAt.length === 0) return bytes
  const copy = Buffer.from(bytes)
  for (const at of numbersAt) copy.write(String(nextNumber++), at, 'latin1')
  return copy
}

/** Returns the counters since the last call. */
function result(): AttackResult {
  const now = { ms: performance.now(), cpuS: ownCpuSeconds() }
  const taken = { ...tally, tookS: (now.ms - since.ms) / 1000, cpuS: now.cpuS - since.cpuS }
  Object.assign(tally, { opens: 0, writes: 0, counts: {} })
  since = now
  return taken
}

const functions = answerCalls({ start, result })

export type AttackFunctions = typeof functions
