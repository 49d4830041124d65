import { reportTexts } from '#dashboard/texts/reports.ts'
import { Icon } from '#dashboard/ui/icons.tsx'

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
      <button type="button" class="button" aria-label={texts.earlier} onClick={onEarlier}>
        <Icon name="back" />
      </button>
      <output class="strong">{name}</output>
      <button
        type="button"
        class="button"
        aria-label={texts.later}
        disabled={onLater === null}
        onClick={() => onLater?.()}
      >
        <Icon name="next" />
      </button>
    </div>
  )
}
