import { useState } from 'preact/hooks'
import { partyTexts } from '#dashboard/texts/parties/parties.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Question } from '#dashboard/ui/question.tsx'
import { partyRefusal } from './party-text.ts'

interface ReturnButtonsProps {
  partyId: string
  /** Carts of the party that come back. */
  carts: readonly string[]
  onDone: (text: string) => void
}

/** Return of carts, with or without a lock. */
export function ReturnButtons({ partyId, carts, onDone }: ReturnButtonsProps) {
  const { api } = useDashboard()
  const texts = partyTexts()
  const [asked, ask] = useState<'return' | 'returnAndLock' | null>(null)
  const names = carts.join(', ')
  const send = async () => {
    const body = { carts: [...carts], lock: asked === 'returnAndLock' }
    const { results } = await api.call('POST /parties/{id}/return', { path: { id: partyId }, body })
    const notLocked = results.flatMap((one) => ('code' in one ? [one.cart] : []))
    onDone(`${texts.returned(names)}${notLocked.length === 0 ? '' : ` ${texts.notLocked(notLocked.join(', '))}`}`)
    ask(null)
  }
  return (
    <>
      {(['return', 'returnAndLock'] as const).map((one) => (
        <Button key={one} text={texts[one]} aria-label={`${texts[one]}: ${names}`} onClick={() => ask(one)} />
      ))}
      {asked !== null && (
        <Question
          title={texts.askReturn(names)}
          action={texts[asked]}
          refusal={partyRefusal}
          onCancel={() => ask(null)}
          onAnswer={send}
        />
      )}
    </>
  )
}
