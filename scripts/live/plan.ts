import type { JourneyKind } from './model/journey.ts'
import type { DiskFault, Kept } from './world/disk.ts'

export const MOODS = ['quiet', 'ordinary', 'hard'] as const
/** Hub: none, or one on a double of its database or on PGlite. */
export const HUBS = ['none', 'double', 'pglite'] as const
export type Mood = (typeof MOODS)[number]

/** Request of the hub to a course. */
export type Wish = 'locate' | 'lock' | 'unlock' | 'config' | 'disable'

/** Action of a person, or fault. All are drawn before the run, so that it can be repeated without some of them. */
export type Entry = { readonly atMs: number } & (
  | { readonly kind: 'drive'; readonly cart: number; readonly journey: JourneyKind; readonly pace: number }
  | { readonly kind: 'sleep' | 'wake' | 'unplug' | 'plug'; readonly cart: number }
  | { readonly kind: 'command'; readonly cart: number; readonly command: 'lock' | 'unlock' | 'locate' }
  | { readonly kind: 'calls'; readonly count: number }
  | { readonly kind: 'shadow'; readonly cart: number; readonly forMs: number }
  | { readonly kind: 'kill'; readonly turns: number; readonly downMs: number }
  /** A kill so many turns after the writer thread got a write of a kind at which few kills came. */
  | { readonly kind: 'write-kill'; readonly turns: number; readonly downMs: number }
  | { readonly kind: 'restart'; readonly downMs: number }
  | { readonly kind: 'slow'; readonly delayMs: number; readonly forMs: number }
  | { readonly kind: 'rush' }
  | { readonly kind: 'publish'; readonly publisher: number; readonly count: number }
  | ({ readonly kind: 'away'; readonly program: number; readonly how: Away } & Absence)
  | ({ readonly kind: 'mortal'; readonly mortal: number; readonly how: Away | 'takeover' } & Absence)
  | { readonly kind: 'receiver'; readonly receiver: number; readonly mode: ReceiverMode; readonly forMs: number }
  | TabletEntry
  | OverrideEntry
  | { readonly kind: 'hub-kill'; readonly turns: number; readonly downMs: number }
  | { readonly kind: 'hub-cut'; readonly ends: 'client' | 'server' | 'both'; readonly forMs: number }
  | { readonly kind: 'hub-slow'; readonly delayMs: number; readonly forMs: number }
  | { readonly kind: 'hub-fault'; readonly fault: 'full' | 'down'; readonly forMs: number }
  | { readonly kind: 'machine'; readonly to: 'other' | 'home' | 'confirmed' }
  | { readonly kind: 'copy' }
  | { readonly kind: 'restore'; readonly isWhole: boolean }
  | { readonly kind: 'intent'; readonly device: number; readonly wish: Wish; readonly expiresS: number }
  | { readonly kind: 'backup-kill'; readonly turns: number; readonly downMs: number }
  | { readonly kind: 'stick'; readonly fault: 'gone' | 'full'; readonly forMs: number }
  /** Difference of the clock to the true time; null for a clock that begins in 1970. */
  | { readonly kind: 'clock'; readonly offMs: number | null }
  /** The edge of the barn is drawn again, where it was. */
  | { readonly kind: 'redraw' }
  | { readonly kind: 'map'; readonly ways: number }
  | { readonly kind: 'photo'; readonly bytes: number }
  | {
      readonly kind: 'alert'
      readonly how: 'acknowledge' | 'close'
      readonly choice: number
      /** Kill soon after the act; the cause of the alert may end before the next start. */
      readonly kill: { readonly afterMs: number; readonly downMs: number } | null
    }
  | { readonly kind: 'guest'; readonly cart: number }
  | { readonly kind: 'guest-leaves' }
  | { readonly kind: 'authority'; readonly forMs: number }
  | { readonly kind: 'clock-right'; readonly by: 'system' | 'hardware' | 'admin' | 'hand' }
  | DiskEntry
)

/** Way in which a program loses its connection. */
export type Away = 'politely' | 'abruptly' | 'cut'
export interface Absence {
  /** Turns of its event loop before that, so that it happens in the middle of its messages. */
  readonly turns: number
  readonly forMs: number
}
/** Fault of a receiver of webhooks. */
export type ReceiverMode = 'refuse' | 'hang' | 'reset' | 'away'
/** Change of staff that applies for a while, or outage of a screen; without a time until closing, 0 ends it. */
export type OverrideEntry =
  | {
      readonly kind: 'switch'
      readonly zones: readonly number[]
      readonly by: 'ids' | 'holes' | 'types'
      readonly forMs: number | null
    }
  | { readonly kind: 'exempt'; readonly screen: number; readonly forMs: number | null }
  | { readonly kind: 'recall'; readonly isBegin: boolean }
  | { readonly kind: 'screen'; readonly screen: number; readonly offMs: number }

/** Action of a person on a shared tablet, or fault of a tablet. */
export type TabletEntry =
  | { readonly kind: 'pin'; readonly tablet: number; readonly person: number; readonly isRight: boolean }
  | { readonly kind: 'act'; readonly tablet: number; readonly how: 'command' | 'socket' | 'note' }
  | { readonly kind: 'leave' | 'revoke' | 'rejoin'; readonly tablet: number }
  | {
      readonly kind: 'line'
      readonly tablet: number
      readonly which: 'client' | 'server' | 'both'
      readonly forMs: number
    }
  | { readonly kind: 'stall'; readonly tablet: number; readonly forMs: number }
  | {
      readonly kind: 'rights'
      readonly user: number
      readonly change: 'scope' | 'role' | 'codes' | 'off' | 'on' | 'pin'
    }

/** Faults of the disk. A power cut comes after so many more changes of its files. */
type DiskEntry =
  | {
      readonly kind: 'powercut'
      readonly changes: number
      readonly kept: Kept
      readonly seed: number
      readonly downMs: number
    }
  | { readonly kind: 'fill'; readonly nearMs: number; readonly fullMs: number }
  | { readonly kind: 'baddisk'; readonly fault: DiskFault; readonly forMs: number }
  /** From a write of a kind on that few faults came. */
  | { readonly kind: 'write-fault'; readonly fault: DiskFault; readonly forMs: number }

export interface Plan {
  readonly seed: number
  readonly days: number
  readonly carts: number
  readonly mood: Mood
  /** First local day, as 2026-05-01. */
  readonly start: string
  /** Hub: none, the real one on a double of its database, or on PGlite. */
  readonly hub?: (typeof HUBS)[number]
  readonly entries: readonly Entry[]
}

/** Plan before its entries are drawn. */
export type Undrawn = Omit<Plan, 'entries'>
