import type { CommandProgress, Stage } from '#dashboard/live/commands.ts'
import { cartActionTexts } from '#dashboard/texts/cart-actions.ts'
import { commandTexts } from '#dashboard/texts/command.ts'
import { formatSpan, formatTime } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'

export function CommandOutcome({ course, isOnline, isLive }: OutcomeProps) {
  const stage = course.stage.value
  const { commands, clock, site } = useDashboard()
  const time = formatTime(clock.nowMs() - commands.ageMs(course), site.value.time_zone)
  const isUnderWay = stage.kind !== 'done' && stage.kind !== 'failed'
  return (
    <p class={`outcome ${stage.kind}`}>
      {isUnderWay && <span class="spinner" />}
      <span dir="auto">
        {stage.kind === 'failed' && `${actionOf(course)}, ${time}: `}
        {stage.kind === 'done' ? doneInWords(course, time) : outcomeInWords(stage, { isOnline, isLive })}
      </span>
    </p>
  )
}

interface OutcomeProps {
  course: CommandProgress
  /** True if the cart is connected. */
  isOnline: boolean
  /** True if the gateway is connected. */
  isLive: boolean
}

/** Names the action, because a card may still show the result of the previous command. */
function doneInWords({ wanted: { command, params } }: CommandProgress, time: string): string {
  const { done } = commandTexts()
  return done[command === 'locate' && params?.beep === true ? 'beep' : command](time)
}

function actionOf({ wanted: { command } }: CommandProgress): string {
  return cartActionTexts()[command === 'locate' ? 'beep' : command]
}

function outcomeInWords(
  stage: Exclude<Stage, { kind: 'done' }>,
  { isOnline, isLive }: { isOnline: boolean; isLive: boolean },
): string {
  const texts = commandTexts()
  if (stage.kind === 'failed') return failureInWords(stage)
  if (!isLive) return texts.lostMeanwhile
  if (stage.kind === 'waiting') return isOnline ? texts.locating : texts.offline
  return stage.kind === 'sent' ? texts.sent : texts.sending
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
