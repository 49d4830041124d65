import type { Course, Stage } from '#dashboard/live/commands.ts'
import { commandTexts } from '#dashboard/texts/command.ts'
import { formatSpan } from '#dashboard/texts/format.ts'

/** What becomes of a command, told as it happens. */
export function CommandOutcome({ course, isOnline, isLive }: OutcomeProps) {
  const stage = course.stage.value
  const isUnderWay = stage.kind !== 'done' && stage.kind !== 'failed'
  return (
    <p class={`outcome ${stage.kind}`}>
      {isUnderWay && <span class="spinner" />}
      <span dir="auto">{outcomeInWords(stage, { isOnline, isLive })}</span>
    </p>
  )
}

interface OutcomeProps {
  course: Course
  /** Whether the cart is connected. */
  isOnline: boolean
  /** Whether the gateway is. */
  isLive: boolean
}

function outcomeInWords(stage: Stage, { isOnline, isLive }: { isOnline: boolean; isLive: boolean }): string {
  const texts = commandTexts()
  if (stage.kind === 'done') return texts.done
  if (stage.kind === 'failed') return failureInWords(stage)
  if (!isLive) return texts.lostMeanwhile
  if (stage.kind === 'waiting') return isOnline ? texts.locating : texts.offline
  return texts[stage.kind]
}

function failureInWords({ code, detail, retryAfterS }: Extract<Stage, { kind: 'failed' }>): string {
  const texts = commandTexts()
  if (code === 'signed_out') return texts.signedOut
  if (code === 'no_contact') return texts.noContact
  if (code === 'no_answer') return texts.noAnswer
  const known = texts.failures.get(code)
  if (known !== undefined) return known
  if (retryAfterS !== null) return texts.tryAgainIn(formatSpan(retryAfterS * 1000))
  return detail === '' ? texts.cartRefused(code) : texts.gatewayRefused(detail)
}
