import { formatDay, formatDistance, formatNumber } from '#dashboard/texts/format.ts'
import { serviceTexts } from '#dashboard/texts/service/service.ts'
import type { Units } from '#shared/units.ts'
import type { DueServiceJson } from '#shared/wire/service/service.ts'

/** "Due: 12 h over, 3 days left". */
export function dueText({ state, left }: Pick<DueServiceJson, 'state' | 'left'>, units: Units): string {
  const texts = serviceTexts()
  const amounts = Object.entries(left).map(([unit, rest = 0]) => {
    const amount = amountText(unit, Math.abs(rest), units)
    return rest < 0 ? texts.over(amount) : texts.left(amount)
  })
  return `${texts.states[state]}: ${amounts.join(', ')}`
}

function amountText(unit: string, amount: number, units: Units): string {
  const texts = serviceTexts().units
  if (unit === 'km') return formatDistance(amount * 1000, units)
  return unit in texts ? texts[unit as keyof typeof texts](formatNumber(amount, 0)) : ''
}

/** "Last done 28 Nov", or that it never was. */
export function lastDoneText(at: string | null, timeZone: string): string {
  return at === null ? serviceTexts().never : formatDay(Date.parse(at), timeZone)
}
