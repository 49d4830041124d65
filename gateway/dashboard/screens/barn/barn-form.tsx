import { useState } from 'preact/hooks'
import { PinCancelled } from '#dashboard/live/pin-prompt.ts'
import { type Circle, nearestCart, resizedRadius } from '#dashboard/map/barn.ts'
import { saveBarn } from '#dashboard/map/save-barn.ts'
import { barnTexts } from '#dashboard/texts/barn.ts'
import { formatDistance, formatLength } from '#dashboard/texts/format.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Question } from '#dashboard/ui/question.tsx'
import { ApiError } from '#shared/client.ts'
import type { SiteFeatureJson } from '#shared/wire/zones.ts'

/** Margin of the circle around the building. */
const MARGIN_M = 10
/** Distance beyond which a barn is of another course, or a slip of the finger. */
const FAR_M = 5_000

interface BarnFormProps {
  circle: Circle
  barn: SiteFeatureJson | undefined
  onCircle: (circle: Circle) => void
}

type Outcome = { kind: 'saving' } | { kind: 'saved'; circle: Circle } | { kind: 'refused'; why: string }

/** Form for the size of the barn. */
export function BarnForm({ circle, barn, onCircle }: BarnFormProps) {
  const dashboard = useDashboard()
  const texts = barnTexts()
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const [far, setFar] = useState<ReturnType<typeof nearestCart>>(null)
  const ask = () => {
    const nearest = nearestCart(circle, dashboard.fleet.carts.values())
    if (nearest !== null && nearest.distanceM > FAR_M) setFar(nearest)
    else void save()
  }
  const save = async () => {
    setOutcome({ kind: 'saving' })
    try {
      await dashboard.gate.act(() => saveBarn(dashboard, circle, texts.name))
      setOutcome({ kind: 'saved', circle })
    } catch (error) {
      setOutcome(error instanceof PinCancelled ? null : { kind: 'refused', why: reasonOf(error) })
    }
  }
  const { units } = dashboard.site.value
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: two buttons and a number are no form of their own */}
      <div class="stepper" role="group" aria-label={texts.radius}>
        <Button icon="minus" aria-label={texts.smaller} onClick={() => onCircle(resizedRadius(circle, -1, units))} />
        <output>
          <span class="small">{texts.radius}</span>
          <b>{formatLength(circle.radiusM, units)}</b>
        </output>
        <Button icon="plus" aria-label={texts.larger} onClick={() => onCircle(resizedRadius(circle, 1, units))} />
      </div>
      <Button
        text={outcome?.kind === 'saving' ? `${texts.saving} …` : texts.save}
        is="main wide"
        disabled={outcome?.kind === 'saving'}
        onClick={ask}
      />
      {far !== null && (
        <Question
          title={texts.askFar(formatDistance(far.distanceM, units), far.cart)}
          action={texts.save}
          isDanger
          onCancel={() => setFar(null)}
          onAnswer={async () => {
            setFar(null)
            await save()
          }}
        >
          <p>{texts.farWhy}</p>
        </Question>
      )}
      <div role="status">
        {outcome?.kind === 'saved' && outcome.circle === circle && <p class="good">{texts.saved}</p>}
        {outcome?.kind === 'refused' && <p class="error">{outcome.why}</p>}
      </div>
      {barn?.geometry.type === 'Polygon' && <p class="small">{texts.outline}</p>}
      <p class="small">{texts.drag(formatLength(MARGIN_M, units))}</p>
    </>
  )
}

function reasonOf(error: unknown): string {
  const texts = barnTexts()
  if (!(error instanceof ApiError)) return texts.noAnswer
  if (error.status === 412) return texts.changed
  return error.status === 403 ? texts.adminOnly : texts.refused(error.detail)
}
