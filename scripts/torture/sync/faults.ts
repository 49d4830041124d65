import { createRandom, type Random } from '#shared/random.ts'

/** Fault of a request and its response on the network. `share` is the part that arrives, from 0 to 1. */
export type RequestFault =
  | { kind: 'none' }
  | { kind: 'cut before' }
  | { kind: 'cut in request'; share: number }
  /** The hub handles the request, but the response is lost. */
  | { kind: 'cut before answer' }
  | { kind: 'cut in answer'; share: number }
  | { kind: 'delay'; ms: number }
  /** Two copies at the same time. */
  | { kind: 'twice' }
  /** Answered, and the same bytes are sent once more later. */
  | { kind: 'again'; afterMs: number }
  /** The connection ends immediately, and the request arrives later, after those that followed it. */
  | { kind: 'late'; afterMs: number }
  | { kind: 'answer'; status: RefusalStatus; retryAfterS: number }

export type FaultKind = RequestFault['kind'] | 'refuse'

/** Statuses of a load balancer, or of an overloaded hub. */
export type RefusalStatus = 413 | 429 | 502 | 503

/** Source of the fault for every connection and request. */
export interface FaultPlan {
  /** True if a new connection is reset. */
  refuses(): boolean
  next(startLine: string): RequestFault
}

export const NO_FAULTS: FaultPlan = { refuses: () => false, next: () => ({ kind: 'none' }) }

const REFUSE_CHANCE = 0.06
const KINDS = [
  'cut before',
  'cut in request',
  'cut before answer',
  'cut before answer',
  'cut in answer',
  'delay',
  'twice',
  'again',
  'late',
  'answer',
] as const
const STATUSES = [413, 429, 502, 503] as const
const DELAY_MAX_MS = 300
const LATER_MAX_MS = 1500
const RETRY_AFTER_S = 1

/** Random faults, the same for the same labels; `rate` is the share of the requests with a fault. */
export function chooseFaults(rate: number, ...labels: readonly (string | number)[]): FaultPlan {
  const random = createRandom(...labels)
  return {
    refuses: () => random.chance(REFUSE_CHANCE),
    next: (startLine) => (random.chance(rate) ? chooseFault(random, startLine) : { kind: 'none' }),
  }
}

function chooseFault(random: Random, startLine: string): RequestFault {
  const kind = random.pick(KINDS)
  switch (kind) {
    case 'cut in request':
    case 'cut in answer':
      return { kind, share: random.next() }
    case 'delay':
      return { kind, ms: random.between(0, DELAY_MAX_MS) }
    case 'again':
    case 'late':
      return { kind, afterMs: random.between(0, LATER_MAX_MS) }
    case 'answer': {
      const status = random.pick(STATUSES)
      // only a request with a large body can be too large
      const isPush = startLine.includes('/push')
      return { kind, status: status === 413 && !isPush ? 503 : status, retryAfterS: RETRY_AFTER_S }
    }
    default:
      return { kind }
  }
}
