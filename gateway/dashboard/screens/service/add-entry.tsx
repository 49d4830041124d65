import { useState } from 'preact/hooks'
import { serviceTexts } from '#dashboard/texts/service/service.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { TextField } from '#dashboard/ui/text-field.tsx'

interface AddEntryProps {
  cart: string
  /** Plans to choose from; the first is proposed. */
  plans: readonly { plan_id: string; name: string }[]
  onCancel: () => void
  onDone: () => void
}

/** Reads a typed number with a comma or a point; null for none, undefined for anything else. */
export function typedNumber(text: string): number | null | undefined {
  const number = Number(text.trim().replace(',', '.'))
  return text.trim() === '' ? null : Number.isNaN(number) || number < 0 ? undefined : number
}

/** Dialog with which staff add an entry to the service book of a cart. */
export function AddEntry({ cart, plans, onCancel, onDone }: AddEntryProps) {
  const { api } = useDashboard()
  const texts = serviceTexts()
  const [planId, setPlanId] = useState(plans[0]?.plan_id ?? '')
  const nameOf = (id: string) => plans.find(({ plan_id }) => plan_id === id)?.name ?? ''
  const [what, setWhat] = useState(nameOf(planId))
  const [doneBy, setDoneBy] = useState('')
  const [cost, setCost] = useState('')
  const [note, setNote] = useState('')
  const costNumber = typedNumber(cost)
  const options = new Map([...plans.map(({ plan_id, name }) => [plan_id, name] as const), ['', texts.noPlan] as const])
  const choose = (id: string) => {
    if (what.trim() === '' || what === nameOf(planId)) setWhat(nameOf(id))
    setPlanId(id)
  }
  const send = async () => {
    const body = { cart, what, plan_id: planId || null, done_by: doneBy, cost: costNumber ?? null, note }
    await api.call('POST /service-entries', { body })
    onDone()
  }
  return (
    <Question
      title={texts.addTo(cart)}
      action={texts.save}
      isReady={what.trim() !== '' && costNumber !== undefined}
      refusal={refusalText}
      onCancel={onCancel}
      onAnswer={send}
    >
      {plans.length > 0 && <SelectField name={texts.plan} value={planId} options={options} onChoose={choose} />}
      <TextField name={texts.what} max={200} value={what} onInput={setWhat} />
      <TextField name={texts.doneBy} hint={texts.optional} max={100} value={doneBy} onInput={setDoneBy} />
      <TextField name={texts.cost} hint={texts.number} max={12} value={cost} onInput={setCost} />
      <TextField name={texts.note} hint={texts.optional} max={500} value={note} onInput={setNote} />
    </Question>
  )
}
