import type { Frame } from '../model/picture.ts'
import type { LiveUser, PinTruth } from '../model/rights.ts'
import type { Desks } from './desks.ts'

/** Compares the alerts of locks on all tablets with the locks that wrong PINs have caused. */
export async function comparePinLocks(people: Desks, pins: ReadonlyMap<LiveUser, PinTruth>): Promise<void> {
  const answer = await people.bottle.ask('GET', '/alerts?kind=pin_locked&limit=200')
  const { nowMs } = people.bottle.time
  if (answer === null || nowMs - people.bottle.life.startedAtMs < 5_000) return
  for (const [person, truth] of pins) {
    const own = answer.body.alerts.filter(({ details }: Frame) => details.user_id === person.userId)
    const isUnsure = Math.min(nowMs, truth.countedAtMs) < truth.unsureUntilMs
    truth.countedAtMs = nowMs
    if (isUnsure) {
      truth.locks = own.length
      continue
    }
    const open = own.filter((alert: Frame) => alert.closed_at === null).length
    const { sinceMs, firstEndMs, lastEndMs } = truth.lock
    const mustBeOpen = nowMs > sinceMs + 5_000 && nowMs < firstEndMs - 5_000
    const mayBeOpen = nowMs < lastEndMs + 5_000
    if (mustBeOpen ? open !== 1 : mayBeOpen ? open > 1 : open > 0)
      people.found(30, person, `${open} alerts pin_locked are open`, mustBeOpen ? '1' : 'none')
    if (own.length !== truth.locks && nowMs > sinceMs + 5_000)
      people.found(30, person, `${own.length} alerts pin_locked`, `${truth.locks}`)
  }
}
