import { useState } from 'preact/hooks'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import { serviceTexts } from '#dashboard/texts/service/service.ts'
import { AskButton } from '#dashboard/ui/ask-button.tsx'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { CartKind } from '#shared/site/settings.ts'
import { useAnswer } from '../reports/use-answer.ts'
import { typedNumber } from './add-entry.tsx'

const UNITS = ['hours', 'km', 'rounds', 'days'] as const

/** Plans by which services are due, for admins. */
export function PlansDialog({ onChanged, onClose }: { onChanged: () => void; onClose: () => void }) {
  const { api } = useDashboard()
  const texts = serviceTexts()
  const { answer: plans, again } = useAnswer('plans', (signal) => api.call('GET /service-plans', { signal }))
  const [isAdding, add] = useState(false)
  const changed = () => {
    add(false)
    again()
    onChanged()
  }
  if (isAdding) return <AddPlan onCancel={() => add(false)} onDone={changed} />
  return (
    <Dialog title={texts.plans} onCancel={onClose}>
      <ul class="stack">
        {plans?.map(({ plan_id, name, every }) => (
          <li key={plan_id} class="row">
            <span class="grow" dir="auto">
              {[name, ...UNITS.flatMap((unit) => everyText(unit, every[unit]))].join(' · ')}
            </span>
            <AskButton
              action={texts.remove}
              label={texts.askRemove(name)}
              title={texts.askRemove(name)}
              means={texts.removeMeans}
              onAnswer={async () => {
                await api.call('DELETE /service-plans/{id}', { path: { id: plan_id } })
                changed()
              }}
            />
          </li>
        ))}
      </ul>
      <div class="dialog-buttons">
        <Button text={texts.close} onClick={onClose} />
        <Button text={texts.addPlan} is="main" onClick={() => add(true)} />
      </div>
    </Dialog>
  )
}

function everyText(unit: (typeof UNITS)[number], interval: number | undefined): string[] {
  return interval === undefined ? [] : [serviceTexts().every[unit].replace('…', String(interval))]
}

function AddPlan({ onCancel, onDone }: { onCancel: () => void; onDone: () => void }) {
  const { api } = useDashboard()
  const texts = serviceTexts()
  const [name, setName] = useState('')
  const [kind, setKind] = useState<CartKind>('golf_cart')
  const [typed, setTyped] = useState<Partial<Record<(typeof UNITS)[number], string>>>({})
  const numbers = UNITS.map((unit) => [unit, typedNumber(typed[unit] ?? '')] as const)
  const every = Object.fromEntries(numbers.filter(([, number]) => number !== null))
  const isReady = name.trim() !== '' && Object.keys(every).length > 0 && !Object.values(every).includes(undefined)
  const send = async () => {
    await api.call('POST /service-plans', { body: { name, every, vehicle_kind: kind } })
    onDone()
  }
  return (
    <Question
      title={texts.addPlan}
      action={texts.save}
      isReady={isReady}
      refusal={refusalText}
      onCancel={onCancel}
      onAnswer={send}
    >
      <TextField name={texts.name} max={200} value={name} onInput={setName} />
      <SelectField name={texts.kind} value={kind} options={fleetTexts().kinds} onChoose={setKind} />
      <p>{texts.everyHint}</p>
      {UNITS.map((unit) => (
        <TextField
          key={unit}
          name={texts.every[unit]}
          max={9}
          isNumber
          value={typed[unit] ?? ''}
          onInput={(text) => setTyped({ ...typed, [unit]: text })}
        />
      ))}
    </Question>
  )
}
