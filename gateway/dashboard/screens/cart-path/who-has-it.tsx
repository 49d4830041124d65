import { useEffect, useState } from 'preact/hooks'
import { toHash } from '#dashboard/live/route.ts'
import { cartPathTexts } from '#dashboard/texts/cart-path.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { AnswerOf } from '#shared/wire/operations.ts'

const LOOK_EVERY_MS = 3_000
/** More are counted only. */
const NAMED_MAX = 20

type Applied = AnswerOf<'GET /zones/applied'>

/** Which carts have said that they have the zones as they are now. */
export function WhoHasIt({ version }: { version: number }) {
  const texts = cartPathTexts()
  const applied = useApplied(version)
  if (applied === null) return null
  const { waiting } = applied
  const total = applied.applied.length + waiting.length
  if (total === 0) return <p>{texts.noCarts}</p>
  return (
    <section class="panel who-has-it" role="status">
      <strong>
        {waiting.length === 0 ? texts.allHaveIt(total) : texts.haveIt(applied.applied.length, total)}
      </strong>
      <progress
        max={total}
        value={applied.applied.length}
        aria-label={texts.haveIt(applied.applied.length, total)}
      />
      {waiting.length > 0 && (
        <p class="path-waiting">
          {texts.waiting}{' '}
          {waiting.slice(0, NAMED_MAX).map((cart) => (
            <a key={cart} class="button" href={toHash('map', cart)} dir="auto">
              {cart}
            </a>
          ))}
          {waiting.length > NAMED_MAX && ` + ${waiting.length - NAMED_MAX}`}
        </p>
      )}
    </section>
  )
}

function useApplied(version: number): Applied | null {
  const { api, line } = useDashboard()
  const [applied, setApplied] = useState<Applied | null>(null)
  const isLive = line.state.value.kind === 'live'
  useEffect(() => {
    if (!isLive) return
    let isHere = true
    const look = () =>
      api.call('GET /zones/applied').then(
        (answer) => isHere && setApplied(answer),
        // the line says when nobody answers; what was known stays
        () => undefined,
      )
    void look()
    const timer = setInterval(() => void look(), LOOK_EVERY_MS)
    return () => {
      isHere = false
      clearInterval(timer)
    }
  }, [api, isLive, version])
  return applied
}
