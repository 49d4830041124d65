import { paceTexts } from '#dashboard/texts/pace.ts'
import type { RoundJson } from '#shared/wire/rounds.ts'

/** "12 min behind" */
export function paceText({ minutes_behind: behind }: RoundJson): string | null {
  const texts = paceTexts()
  if (behind === null) return null
  const minutes = Math.round(Math.abs(behind))
  if (minutes < 1) return texts.onTime
  return behind > 0 ? texts.behind(minutes) : texts.ahead(minutes)
}

/** "Hole 7" */
export function holeText({ current_hole: hole }: RoundJson): string {
  const texts = paceTexts()
  return hole === null ? texts.betweenHoles : texts.hole(hole)
}
