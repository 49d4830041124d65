import { reportTexts } from '#dashboard/texts/reports.ts'
import { Button } from '#dashboard/ui/button.tsx'

interface SpanStepperProps {
  name: string
  /** Null without an earlier span. */
  onEarlier: () => void
  onLater: (() => void) | null
}

/** Buttons for the month or week of a report. */
export function SpanStepper({ name, onEarlier, onLater }: SpanStepperProps) {
  const texts = reportTexts()
  return (
    <div class="reports-span">
      <Button icon="back" aria-label={texts.earlier} onClick={onEarlier} />
      <output class="strong">{name}</output>
      <Button icon="next" aria-label={texts.later} disabled={onLater === null} onClick={() => onLater?.()} />
    </div>
  )
}
