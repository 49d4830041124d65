import { paceTexts } from '#dashboard/texts/pace.ts'
import type { PaceJson, PacePartyJson, RoundJson } from '#shared/wire/rounds.ts'

/** "12 min behind" */
export function paceText({ minutes_behind: behind }: RoundJson): string | null {
  const texts = paceTexts()
  if (behind === null) return null
  const minutes = Math.round(Math.abs(behind))
  if (minutes < 1) return texts.onTime
  return behind > 0 ? texts.behind(minutes) : texts.ahead(minutes)
}

/** "Hole 7" */
export function holeText({ current_hole: hole }: Pick<RoundJson, 'current_hole'>): string {
  const texts = paceTexts()
  return hole === null ? texts.betweenHoles : texts.hole(hole)
}

/** "Miller, Smith", else "Carts 7, 8" */
export function partyName({ players, carts }: Pick<PacePartyJson, 'players' | 'carts'>): string {
  return players.length > 0 ? players.join(', ') : paceTexts().cart(carts)
}

/** "Delays 3 groups, 14 min" */
export function causeText(party: PacePartyJson, { parties }: Pick<PaceJson, 'parties'>): string {
  const texts = paceTexts()
  const late = Math.round(party.late_min)
  const own = Math.round(party.own_min)
  const by = parties.find(({ pace_id }) => pace_id === party.delayed_by)
  switch (party.cause) {
    case 'delays_others':
      return texts.delays(party.delays.length, own)
    case 'delayed':
      return by === undefined ? texts.delayed(late) : texts.delayedBy(partyName(by), late)
    case 'behind':
      return texts.behindAlone(own)
    case 'on_pace':
      return texts.onPace
  }
}
