import { useState } from 'preact/hooks'
import { partyTexts } from '#dashboard/texts/parties/parties.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Question } from '#dashboard/ui/question.tsx'
import { partyRefusal } from './party-text.ts'

interface ReturnButtonProps {
  is: 'return' | 'returnAndLock'
  partyId: string
  /** Carts of the party that come back. */
  carts: readonly string[]
  onDone: (text: string) => void
}

/** Return of carts, with or without a lock. */
export function ReturnButton({ is, partyId, carts, onDone }: ReturnButtonProps) {
  const { api } = useDashboard()
  const texts = partyTexts()
  const [isAsked, ask] = useState(false)
  const names = carts.join(', ')
  const send = async () => {
    const body = { carts: [...carts], lock: is === 'returnAndLock' }
    const { results } = await api.call('POST /parties/{id}/return', { path: { id: partyId }, body })
    const notLocked = results.flatMap((one) => ('code' in one ? [one.cart] : []))
    onDone(`${texts.returned(names)}${notLocked.length === 0 ? '' : ` ${texts.notLocked(notLocked.join(', '))}`}`)
    ask(false)
  }
  return (
    <>
      <Button text={texts[is]} aria-label={`${texts[is]}: ${names}`} onClick={() => ask(true)} />
      {isAsked && (
        <Question
          title={texts.askReturn(names)}
          action={texts[is]}
          refusal={partyRefusal}
          onCancel={() => ask(false)}
          onAnswer={send}
        />
      )}
    </>
  )
}
