import { createRandom, type Random } from '#shared/random.ts'
import { connectionKinds } from './connection-kinds.ts'
import type { Ending, FuzzCase, Kind, Login } from './fuzz-case.ts'
import { orderKinds } from './order-kinds.ts'
import { packetKinds } from './packet-kinds.ts'
import { violationKinds } from './violation-kinds.ts'
import { websocketKinds } from './websocket-kinds.ts'

const KINDS: readonly Kind[] = [...packetKinds, ...violationKinds, ...orderKinds, ...connectionKinds, ...websocketKinds]
const TOTAL_WEIGHT = KINDS.reduce((sum, { weight }) => sum + weight, 0)
const WEBSOCKET_SHARE = 0.12

export const kindNames: readonly string[] = KINDS.map(({ name }) => name)

/** Case `number` of a seed, of kind `only` if given (throws if unknown), independent of others; only passwords vary. */
export function generateCase(seed: number, number: number, devices: readonly Login[], only?: string): FuzzCase {
  const random = createRandom(seed, 'case', number)
  const drawn = drawKind(random)
  const kind = only === undefined ? drawn : KINDS.find(({ name }) => name === only)
  const device = devices[number % devices.length]
  if (kind === undefined || device === undefined) throw new Error(`no kind ${only}, or no devices`)
  const isWebSocket = random.chance(WEBSOCKET_SHARE)
  const ending = random.pick<Ending>(['half-close', 'half-close', 'ping', 'reset'])
  const draft = kind.draft(random, device)
  return {
    number,
    kind: kind.name,
    device,
    channel: isWebSocket ? 'websocket' : 'tcp',
    entry: 'stranger',
    ending,
    answers: [],
    copies: 1,
    ...draft,
  }
}

function drawKind(random: Random): Kind | undefined {
  let left = random.between(0, TOTAL_WEIGHT)
  return KINDS.find(({ weight }) => {
    left -= weight
    return left < 0
  })
}
