import { diskDay, hostDay } from './draw/computer.ts'
import { cartDay, courseDay, locksDay, lostCommandsDay } from './draw/fleet.ts'
import { hubDay } from './draw/hub.ts'
import { nearDay, writeFaultsDay } from './draw/near.ts'
import { alertDay, greenkeeperDay, guestDay, overrideDay, tabletDay } from './draw/people.ts'
import { programsDay, receiversDay } from './draw/programs.ts'
import { nextDay } from './model/local-time.ts'
import type { Entry, Plan, Undrawn } from './plan.ts'

/** Draws the entries of a run. Each cart and day has random numbers of its own: fewer of them change no other. */
export function drawPlan(options: Undrawn): Plan {
  const entries: Entry[] = []
  let date = options.start
  for (let day = 0; day < options.days; day++, date = nextDay(date)) {
    const acts: Entry[] = [
      ...courseDay(options, date),
      ...programsDay(options, date),
      ...receiversDay(options, date),
      ...locksDay(options, date),
      ...lostCommandsDay(options, date),
      ...tabletDay(options, date),
      ...overrideDay(options, date),
      ...hubDay(options, date),
      ...hostDay(options, date),
      ...guestDay(options, date),
      ...greenkeeperDay(options, date),
      ...alertDay(options, date),
      ...diskDay(options, date),
      ...writeFaultsDay(options, date),
    ]
    for (let cart = 1; cart <= options.carts; cart++) acts.push(...cartDay(options, date, cart))
    entries.push(...acts, ...nearDay(options, date, acts))
  }
  entries.sort((one, other) => one.atMs - other.atMs)
  return { ...options, entries }
}
