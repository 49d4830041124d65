import { chooseMoment, type Moment } from '../death.ts'
import type { Unsynced } from './file.ts'

/** Torn writes twice as often: there are many ways to tear. */
const MODES: readonly Unsynced[] = ['some sectors', 'none', 'some sectors', 'all']
/** Share of the cuts that are in the middle of writing, and the highest number of the change at which they happen. */
const AT_A_CHANGE = 0.7
const LAST_CHANGE = 4000
const DURING_START = 0.4

/** Part of the changes that the disk keeps at the n-th power cut of a series. */
export function unsyncedOf(n: number): Unsynced {
  return MODES[n % MODES.length] ?? 'none'
}

export function chooseCutMoment(): Moment {
  return Math.random() < AT_A_CHANGE ? 'at a change' : chooseMoment()
}

/** Chooses the number of the change to cut at: often among the few of a start, otherwise among all. */
export function chooseChange(): number {
  return Math.ceil(Math.random() < DURING_START ? LAST_CHANGE ** Math.random() : LAST_CHANGE * Math.random())
}
