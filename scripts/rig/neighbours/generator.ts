import { setTimeout as sleep } from 'node:timers/promises'
import { answerCalls } from '../calls.ts'
import { ownCpuSeconds } from '../process-usage.ts'
import { AttackConnection } from './attack-connection.ts'
import { type AttackPlan, type AttackResult, NUMBER } from './attack-plan.ts'

/** Process of a noisy client. */

const TICK_MS = 5
const START_LIMIT_MS = 30_000

const tally = { opens: 0, writes: 0, counts: {} as Record<string, number> }
let since = { ms: performance.now(), cpuS: ownCpuSeconds() }
let nextNumber = Date.now()

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
async function start(plan: AttackPlan, ports: { http: number; mqtt: number }): Promise<AttackResult> {
  if (plan.beside !== undefined) await start(plan.beside, ports)
  const port = plan.speaks === 'mqtt' ? ports.mqtt : ports.http
  const connections = Array.from({ length: plan.connections }, () => new AttackConnection(plan, port, count))
  const open = (n: number) => {
    const connection = connections[n]
    if (connection === undefined) return false
    tally.opens++
    connection.open(numbered(plan.first[n % plan.first.length]))
    return true
  }
  let tried = 0
  every(plan.opensPerS, () => open(tried++))
  const giveUpMs = performance.now() + START_LIMIT_MS
  while (tried < connections.length && performance.now() < giveUpMs) await sleep(TICK_MS)
  const isBackAllowed = plan.after !== 'leaves once subscribed'
  if (isBackAllowed) every(plan.reopensPerS, () => open(connections.findIndex(({ isClosed }) => isClosed)))
  let churned = 0
  every(plan.churnPerS, () => open(churned++ % connections.length))
  writeOn(plan, connections)
  return result()
}

function writeOn(plan: AttackPlan, connections: readonly AttackConnection[]): void {
  let turn = 0
  every(plan.nextPerS, () => {
    for (let tries = 0; tries < connections.length; tries++) {
      const connection = connections[turn++ % connections.length]
      if (!connection?.isReady) continue
      connection.write(numbered(plan.next[Math.floor(turn / connections.length) % plan.next.length]))
      tally.writes++
      return true
    }
    return false
  })
}

const places = new WeakMap<Buffer, readonly number[]>()

/** Copies the bytes with new numbers, as a socket may still have the last ones. */
function numbered(bytes: Buffer = Buffer.alloc(0)): Buffer {
  const numbersAt = places.get(bytes) ?? placesOf(bytes)
  places.set(bytes, numbersAt)
  if (numbersAt.length === 0) return bytes
  const copy = Buffer.from(bytes)
  for (const at of numbersAt) copy.write(String(nextNumber++).slice(-NUMBER.length), at, 'latin1')
  return copy
}

function placesOf(bytes: Buffer): number[] {
  const found: number[] = []
  for (let at = bytes.indexOf(NUMBER); at >= 0; at = bytes.indexOf(NUMBER, at + NUMBER.length)) found.push(at)
  return found
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
