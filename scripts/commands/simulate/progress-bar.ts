import type { HistoryProgress } from './history.ts'

const WIDTH = 24

/** One line: bar, days of carts, samples, samples a second, time left. */
export function progressLine(progress: HistoryProgress, elapsedS: number): string {
  const { samples, cartDays, cartDaysTotal } = progress
  const share = cartDaysTotal === 0 ? 0 : Math.min(1, cartDays / cartDaysTotal)
  const done = Math.round(share * WIDTH)
  const bar = `${'█'.repeat(done)}${'░'.repeat(WIDTH - done)}`
  const rate = elapsedS > 0 ? Math.round(samples / elapsedS) : 0
  const left = share > 0 ? minutes((elapsedS * (1 - share)) / share) : '--:--'
  return (
    `${bar} ${Math.floor(share * 100)} %  ${Math.floor(cartDays)}/${cartDaysTotal} cart days  ` +
    `${samples.toLocaleString('en')} samples  ${rate.toLocaleString('en')}/s  ${left} left`
  )
}

export function minutes(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`
}
